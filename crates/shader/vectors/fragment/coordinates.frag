#version 450
// The coordinates of pixels, which are those of their middles.
// pixels: 21 7
// output 0: vec4
layout(location = 0) out vec4 color;

void main() {
    color = gl_FragCoord;
}
