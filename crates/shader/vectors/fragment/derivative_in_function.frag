#version 450
// Differences in a function, after a branch that all pixels of a quad take.
// pixels: 20 8
// output 0: vec4
layout(location = 0) out vec4 color;

float slope(float x) {
    return dFdx(x) + dFdy(x) * 100.0;
}

void main() {
    vec2 at = gl_FragCoord.xy;
    color = vec4(slope(at.x), slope(at.y), slope(at.x * 2.0 + at.y * 3.0), 0.0);
    if (at.y > 4.0) {
        color.w = slope(at.x * 8.0);
    }
}
