#version 450
// Sines and cosines, within a tolerance.
// dispatch: 3 1 1
// surface 0 0: 192 quarters
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

bool near(float x, float y) {
    return abs(x - y) <= 0.002;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = clamp(a[i], -3.0, 3.0), s = sin(x), c = cos(x);
    r[i] = uint(near(s * s + c * c, 1.0)) | uint(near(sin(0.5235988), 0.5)) << 1 | uint(near(sin(x * 0.5) * cos(x * 0.5) * 2.0, s)) << 2
        | uint(near(cos(x + 3.1415927), -c)) << 3 | uint(s > 0.0 == (x > 0.0)) << 4;
}
