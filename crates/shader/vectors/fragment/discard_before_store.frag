#version 450
// Pixels that are discarded do not store in a buffer.
// pixels: 16 6
// surface 0 0: 384 random
// input 0: ivec4 small
// input 1: ivec4 ints
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 1) flat in ivec4 other;
layout(location = 0) out ivec4 color;
layout(set = 0, binding = 0) writeonly buffer Memory { int r[]; };

void main() {
    uint i = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    ivec4 sum = value + other;
    if (value.x > 10) {
        discard;
    }
    r[i] = sum.x;
    color = sum;
}
