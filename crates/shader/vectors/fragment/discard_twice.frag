#version 450
// Two discards with conditions that need different inputs.
// pixels: 33 8
// input 0: vec4 quarters
// input 1: vec4 quarters
// input 2: vec4 floats
// output 0: vec4
layout(location = 0) in vec4 first;
layout(location = 1) in vec4 second;
layout(location = 2) in vec4 third;
layout(location = 0) out vec4 color;

void main() {
    vec4 sum = third;
    if (first.x < -4.0) {
        discard;
    }
    sum += first;
    if (second.y > 4.0) {
        discard;
    }
    color = sum + second;
}
