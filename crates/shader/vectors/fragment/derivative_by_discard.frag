#version 450
// A discard by a difference.
// pixels: 20 8
// output 0: vec4
// push: 0x41200000
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push {
    float limit;
};

void main() {
    float x = gl_FragCoord.x, y = (uint(x) & 2u) == 0u ? x * 2.0 : x * 16.0;
    float slope = dFdx(y);
    if (slope > limit) {
        discard;
    }
    color = vec4(slope, x, y, 1.0);
}
