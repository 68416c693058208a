#version 450
// Discards pixels in both branches by different conditions.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    if (value.x > 15) {
        if (value.y > 20) {
            discard;
        }
        color = value;
    } else {
        if (value.y < 10) {
            discard;
        }
        color = -value;
    }
}
