#version 450
// Differences of coordinates and of their functions.
// pixels: 20 8
// output 0: vec4
layout(location = 0) out vec4 color;

void main() {
    vec2 at = gl_FragCoord.xy;
    color = vec4(dFdx(at.x), dFdy(at.y * 3.0), dFdx(at.y), dFdy(at.x - at.y * 0.5));
}
