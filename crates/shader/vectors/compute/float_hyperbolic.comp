#version 450
// Hyperbolic functions, within a tolerance.
// dispatch: 3 1 1
// surface 0 0: 192 quarters
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

bool near(float x, float y) {
    return abs(x - y) <= 0.01;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = clamp(a[i], -2.0, 2.0);
    r[i] = uint(near(sinh(x), (exp(x) - exp(-x)) * 0.5)) | uint(near(cosh(x), (exp(x) + exp(-x)) * 0.5)) << 1
        | uint(near(tanh(x) * cosh(x), sinh(x))) << 2 | uint(near(asinh(sinh(x)), x)) << 3;
}
