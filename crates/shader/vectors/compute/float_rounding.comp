#version 450
// Adds and multiplies floats whose results are rounded, without contraction.
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = float(a[i].x & 0xffffffu) * 0.000001, y = float(a[i].y & 0xffffffu);
    precise float sum = x + y;
    precise float product = x * y;
    r[i] = vec2(sum, product);
}
