#version 450
// Demotes some pixels and discards others.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
#extension GL_EXT_demote_to_helper_invocation : require
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void main() {
    if (value.x > 24) {
        demote;
    }
    color = value;
    if (value.y > 24) {
        discard;
    }
    color.w = value.x + value.y;
}
