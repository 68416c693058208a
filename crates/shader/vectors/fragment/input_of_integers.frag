#version 450
// Inputs of integers, with and without a sign, at two locations.
// pixels: 18 4
// input 1: ivec4 ints
// input 3: uvec4 random
// output 0: uvec4
layout(location = 1) flat in ivec4 value;
layout(location = 3) flat in uvec4 bits;
layout(location = 0) out uvec4 color;

void main() {
    color = uvec4(value) ^ bits.wzyx;
}
