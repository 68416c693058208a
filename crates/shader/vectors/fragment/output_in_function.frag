#version 450
// An output that a function writes, and one that it gets as a parameter.
// pixels: 10 4
// input 0: vec4 quarters
// output 0: vec4
// output 1: vec4
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 other;

void fill(out vec4 target, float x) {
    target = vec4(x, value.xyz);
    color.x += x;
}

void main() {
    color = value;
    fill(other, 2.0);
    fill(color, value.w);
}
