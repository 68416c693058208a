#version 450
// Discards all pixels.
// pixels: 9 3
// input 0: vec4 floats
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 color;

void main() {
    color = value;
    if (gl_FragCoord.x > 0.0) {
        discard;
    }
}
