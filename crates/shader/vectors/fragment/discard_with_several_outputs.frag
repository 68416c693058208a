#version 450
// Discards pixels of two outputs, between their stores.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
// output 1: vec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;
layout(location = 1) out vec4 other;

void main() {
    color = value;
    if (value.z < 12) {
        discard;
    }
    other = vec4(value) * 0.5;
}
