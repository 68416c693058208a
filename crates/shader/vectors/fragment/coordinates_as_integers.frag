#version 450
// Integers from the coordinates of pixels.
// pixels: 13 5
// output 0: ivec4
layout(location = 0) out ivec4 color;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    color = ivec4(at, at.x * at.y, at.x - at.y);
}
