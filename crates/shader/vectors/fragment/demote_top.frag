#version 450
// Demotes pixels first of all.
// pixels: 21 7
// input 0: vec4 floats
// input 1: vec4 floats
// output 0: vec4
#extension GL_EXT_demote_to_helper_invocation : require
layout(location = 0) in vec4 value;
layout(location = 1) in vec4 other;
layout(location = 0) out vec4 color;

void main() {
    vec4 sum = value + other;
    if (gl_FragCoord.x > 9.0) {
        demote;
    }
    color = sum;
}
