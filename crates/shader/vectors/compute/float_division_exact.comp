#version 450
// Divides floats by powers of two.
// dispatch: 3 1 1
// surface 0 0: 192 floats
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = vec4(a[i] / 2.0, a[i] / 0.25, a[i] / -8.0, 1.0 / float(1u << (i & 7u)));
}
