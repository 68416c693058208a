#version 450
// Discards pixels in a loop; those that are left go on.
// pixels: 21 7
// input 0: uvec4 random
// output 0: uvec4
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 color;

void main() {
    uint bits = value.x, sum = 0u;
    for (uint k = 0u; k < 10u; k++) {
        if ((bits & 15u) == 3u) {
            discard;
        }
        sum += bits & 7u;
        bits >>= 3;
    }
    color = uvec4(sum, value.yzw);
}
