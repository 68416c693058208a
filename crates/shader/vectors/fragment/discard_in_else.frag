#version 450
// Discards pixels in the alternative of a branch.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    if (value.x > 8) {
        color = value * 2;
    } else {
        discard;
    }
    color.w += 1;
}
