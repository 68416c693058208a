#version 450
// Pixels that return from loops write their outputs.
// pixels: 21 7
// input 0: uvec4 small
// output 0: uvec4
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 color;

void main() {
    color = uvec4(0u);
    for (uint k = 0u; k < 8u; k++) {
        for (uint n = 0u; n < 4u; n++) {
            if (k * 4u + n == value.x) {
                color.w = k;
                return;
            }
            color[n] += value.y;
        }
    }
    color.z = 9u;
}
