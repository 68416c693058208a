#version 450
// Discards pixels first of all, by their coordinates.
// pixels: 21 7
// input 0: vec4 floats
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 color;

void main() {
    if (gl_FragCoord.x > 9.0) {
        discard;
    }
    color = value;
}
