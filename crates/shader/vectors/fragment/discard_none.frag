#version 450
// A discard whose condition is never true.
// pixels: 9 3
// input 0: vec4 floats
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 color;

void main() {
    vec4 sum = value + 1.0;
    if (gl_FragCoord.x < 0.0) {
        discard;
    }
    color = sum;
}
