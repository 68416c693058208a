#version 450
// Differences after a discard of all four pixels of a quad.
// pixels: 20 8
// output 0: vec4
layout(location = 0) out vec4 color;

void main() {
    uvec2 quad = uvec2(gl_FragCoord.xy) >> 1;
    if (((quad.x + quad.y) & 1u) == 1u) {
        discard;
    }
    color = vec4(dFdx(gl_FragCoord.x * 3.0), dFdy(gl_FragCoord.y * 5.0), 0.0, 1.0);
}
