#version 450
// Differences before a discard.
// pixels: 20 8
// output 0: vec4
layout(location = 0) out vec4 color;

void main() {
    float slope = dFdx(gl_FragCoord.x * 3.0);
    if (mod(gl_FragCoord.x, 4.0) < 1.0) {
        discard;
    }
    color = vec4(slope, gl_FragCoord.xy, 1.0);
}
