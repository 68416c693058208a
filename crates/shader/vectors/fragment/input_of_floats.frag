#version 450
// An input of four floats.
// pixels: 21 7
// input 0: vec4 floats
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 color;

void main() {
    color = value * 2.0 + value.wzyx;
}
