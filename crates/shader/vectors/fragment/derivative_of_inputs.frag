#version 450
// Differences of inputs, which are those of the pixels of a quad.
// pixels: 20 8
// unjudged: the pixels of a quad have independent inputs
// input 0: vec4 ramp
// output 0: vec4
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 color;

void main() {
    color = dFdx(value) + dFdy(value) * 0.5;
}
