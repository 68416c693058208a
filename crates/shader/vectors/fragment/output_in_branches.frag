#version 450
// An output that is written in branches, and twice.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    color = value;
    if (value.x > 20) {
        color = ivec4(1);
    } else if (value.y > 10) {
        color.zw = ivec2(7, 8);
    }
}
