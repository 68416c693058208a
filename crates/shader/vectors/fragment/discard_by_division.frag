#version 450
// A discard by the rest of a division whose divisor an earlier one checks.
// pixels: 21 7
// input 0: uvec4 small
// output 0: uvec4
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 color;

void main() {
    if (value.y == 0u) {
        discard;
    }
    uint rest = value.x % value.y;
    if (rest == 1u) {
        discard;
    }
    color = uvec4(rest, value.xyz);
}
