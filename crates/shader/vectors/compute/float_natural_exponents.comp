#version 450
// Natural exponents and logarithms, within a tolerance.
// dispatch: 3 1 1
// surface 0 0: 192 quarters
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

bool near(float x, float y) {
    return abs(x - y) <= 0.0001 * max(1.0, abs(y));
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = clamp(a[i], -6.0, 6.0);
    r[i] = uint(near(log(exp(x)), x)) | uint(near(exp(1.0), 2.718282)) << 1 | uint(near(exp(x) * exp(-x), 1.0)) << 2;
}
