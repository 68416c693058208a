#version 450
// An input that is declared, and not read.
// pixels: 9 4
// input 0: vec4 floats
// input 1: vec4 floats
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 1) in vec4 other;
layout(location = 0) out vec4 color;

void main() {
    color = other;
}
