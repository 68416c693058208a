#version 450
// A rectangle of one pixel.
// pixels: 1 1
// output 0: vec4
layout(location = 0) out vec4 color;

void main() {
    color = vec4(gl_FragCoord.xy, 3.0, 4.0);
}
