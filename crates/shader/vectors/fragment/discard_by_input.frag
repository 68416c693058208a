#version 450
// Discards pixels by an input, after the reads of others.
// pixels: 33 8
// input 0: vec4 floats
// input 1: vec4 floats
// input 2: vec4 quarters
// output 0: vec4
layout(location = 0) in vec4 first;
layout(location = 1) in vec4 second;
layout(location = 2) in vec4 mask;
layout(location = 0) out vec4 color;

void main() {
    vec4 sum = first + second.wzyx;
    if (mask.x < 8.0) {
        discard;
    }
    color = sum;
}
