#version 450
// Tangents, and angles in radians and degrees, within a tolerance.
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
    r[i] = uint(near(tan(x) * cos(x), sin(x))) | uint(near(radians(180.0 * x), 3.14159 * x)) << 1
        | uint(near(degrees(x) * 0.01745329, x)) << 2 | uint(near(tan(0.7853982), 1.0)) << 3;
}
