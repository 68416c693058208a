#version 450
// Fractions and exponents.
// dispatch: 3 1 1
// surface 0 0: 192 floats
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int exponent;
    float part = frexp(a[i], exponent);
    r[i] = vec4(part, exponent, ldexp(a[i], int(i % 9u) - 4), ldexp(part, exponent));
}
