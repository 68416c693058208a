#version 450
// Truth as numbers, and numbers as truth.
// dispatch: 3 1 1
// surface 0 0: 384 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    bvec2 t = bvec2(a[i] & 1);
    bool f = bool(float(a[i].x & 2));
    r[i] = ivec4(t.x, int(float(t.y) * 8.0), uint(f) + 5u, int(f == t.x));
}
