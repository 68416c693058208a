#version 450
// Doubles the colours of the input: a vector for each pixel. Specialization constant 0 is a factor.
layout(constant_id = 0) const float factor = 2.0;
layout(location = 0) in vec4 from;
layout(location = 0) out vec4 to;

void main() {
    to = from * factor;
}
