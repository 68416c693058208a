#version 450
// Pixels that return write their outputs.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    color = ivec4(1, 2, 3, 4);
    if (value.x > 15) {
        return;
    }
    color.y = value.y;
    if (value.z > 20) {
        color.z = -1;
        return;
    }
    color.w = value.w;
}
