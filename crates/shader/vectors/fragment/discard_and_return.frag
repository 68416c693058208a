#version 450
// Pixels that return write their outputs, and others are discarded.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    color = value;
    if (value.x > 20) {
        return;
    }
    color.x = 0;
    if (value.y > 20) {
        discard;
    }
    color.y = 0;
}
