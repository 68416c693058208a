#version 450
// Demotes pixels in a loop, whose end they reach, too.
// pixels: 21 7
// input 0: uvec4 random
// output 0: uvec4
#extension GL_EXT_demote_to_helper_invocation : require
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 color;

void main() {
    uint bits = value.x, sum = 0u;
    for (uint k = 0u; k < 10u; k++) {
        if ((bits & 15u) == 3u) {
            demote;
        }
        sum += bits & 7u;
        bits >>= 3;
    }
    color = uvec4(sum, value.yzw);
}
