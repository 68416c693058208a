#version 450
// Inputs of one, two and three components.
// pixels: 11 6
// input 0: float floats
// input 1: vec2 floats
// input 2: ivec3 ints
// output 0: vec4
layout(location = 0) in float one;
layout(location = 1) in vec2 two;
layout(location = 2) flat in ivec3 three;
layout(location = 0) out vec4 color;

void main() {
    color = vec4(one, two.yx, float(three.z >> 10));
}
