#version 450
// Stores of demoted pixels have no effect, and they go on.
// pixels: 16 6
// surface 0 0: 768 random
// input 0: ivec4 small
// output 0: ivec4
#extension GL_EXT_demote_to_helper_invocation : require
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;
layout(set = 0, binding = 0) writeonly buffer Memory { int r[]; };

void main() {
    uint i = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    r[i * 2u] = 1;
    if (value.x > 10) {
        demote;
    }
    r[i * 2u + 1u] = 2;
    color = value;
}
