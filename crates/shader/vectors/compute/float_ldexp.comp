#version 450
// Floats multiplied by powers of two.
// dispatch: 3 1 1
// surface 0 0: 192 floats
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = vec2(ldexp(a[i], int(i % 9u) - 4), ldexp(-0.75, int(i)));
}
