#version 450
// Differences of vectors, and sums of their absolute values.
// pixels: 20 8
// output 0: vec4
// output 1: vec4
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 widths;

void main() {
    vec4 v = vec4(gl_FragCoord.x, gl_FragCoord.y, gl_FragCoord.x + gl_FragCoord.y, 4.0);
    color = dFdx(v * 2.0) - dFdy(v);
    widths = fwidth(v * vec4(1.0, -2.0, 4.0, 8.0));
}
