#version 450
// Discards pixels in loops that others leave and continue.
// pixels: 21 7
// input 0: uvec4 random
// output 0: uvec4
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 color;

void main() {
    uint sum = 0u;
    for (uint k = 0u; k < 4u; k++) {
        uint bits = value[k];
        while (bits != 0u) {
            bits >>= 2;
            if ((bits & 255u) == 77u) {
                discard;
            }
            if ((bits & 3u) == 1u) {
                continue;
            }
            if ((bits & 31u) == 30u) {
                break;
            }
            sum += bits & 3u;
        }
    }
    color = uvec4(sum);
}
