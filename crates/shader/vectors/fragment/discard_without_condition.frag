#version 450
// Discards without a condition.
// pixels: 9 3
// output 0: vec4
layout(location = 0) out vec4 color;

void main() {
    color = vec4(1.0);
    discard;
}
