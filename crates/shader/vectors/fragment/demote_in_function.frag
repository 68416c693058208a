#version 450
// Demotes pixels in a function with a result.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
#extension GL_EXT_demote_to_helper_invocation : require
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

int checked(int x) {
    if (x > 20) {
        demote;
    }
    return x * 3;
}

void main() {
    color = ivec4(checked(value.x), value.yzw);
    color.y += checked(value.y);
}
