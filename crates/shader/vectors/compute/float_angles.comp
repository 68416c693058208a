#version 450
// Angles of sines, cosines and tangents, within a tolerance.
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
    float x = clamp(a[i], -1.25, 1.25);
    r[i] = uint(near(atan(tan(x)), x)) | uint(near(asin(sin(x)), x)) << 1 | uint(near(acos(cos(x)), abs(x))) << 2
        | uint(near(atan(sin(x), cos(x)), x)) << 3;
}
