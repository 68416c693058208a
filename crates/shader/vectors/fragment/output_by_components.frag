#version 450
// An output that is written component by component, and read again.
// pixels: 12 5
// input 0: vec4 quarters
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 color;

void main() {
    color.x = value.y;
    color.yz = value.zw;
    color.w = color.x + color.y;
    color.x *= 2.0;
}
