#version 450
// Discards pixels in a case.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    color = ivec4(0);
    switch (value.x & 3) {
    case 0:
        discard;
    case 1:
        color.x = 5;
        break;
    case 2:
        color.y = 6;
    default:
        color.z += 7;
    }
    color.w = value.w;
}
