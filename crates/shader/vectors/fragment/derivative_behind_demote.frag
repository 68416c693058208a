#version 450
// Differences after a demotion, to which the demoted pixels contribute.
// pixels: 20 8
// output 0: vec4
#extension GL_EXT_demote_to_helper_invocation : require
layout(location = 0) out vec4 color;

void main() {
    uvec2 at = uvec2(gl_FragCoord.xy);
    if (((at.x ^ at.y) & 1u) == 1u) {
        demote;
    }
    float x = gl_FragCoord.x * 3.0;
    color = vec4(dFdx(x), dFdy(gl_FragCoord.y * 5.0), fwidth(x), 1.0);
}
