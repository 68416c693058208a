#version 450
// Three outputs of different types.
// pixels: 21 7
// input 0: ivec4 ints
// output 0: vec4
// output 1: ivec4
// output 3: uvec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out vec4 color;
layout(location = 1) out ivec4 number;
layout(location = 3) out uvec4 bits;

void main() {
    color = vec4(value >> 12);
    number = -value;
    bits = uvec4(value) >> 3;
}
