#version 450
// Discards pixels of whole rows of threads, so that no lane of these is left.
// pixels: 32 12
// input 0: vec4 floats
// input 1: vec4 floats
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 1) in vec4 other;
layout(location = 0) out vec4 color;

void main() {
    vec4 sum = value + other;
    if ((uint(gl_FragCoord.y) & 4u) == 0u) {
        discard;
    }
    color = sum;
}
