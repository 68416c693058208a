#version 450
// Differences at the edges of a rectangle, whose neighbours are outside of it.
// pixels: 21 7
// output 0: vec4
layout(location = 0) out vec4 color;

void main() {
    vec2 at = gl_FragCoord.xy;
    color = vec4(dFdx(at.x * 2.0), dFdy(at.y), fwidth(at.x + at.y), 1.0);
}
