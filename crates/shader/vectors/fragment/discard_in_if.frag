#version 450
// Discards pixels in a branch within a branch.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    color = value;
    if (value.x > 8) {
        color.y = 100;
        if (value.y > 16) {
            discard;
        }
        color.z = 200;
    }
    color.w += 1;
}
