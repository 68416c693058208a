#version 450
// A local array with indices that are constant.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int t[4];
    t[0] = a[i].x;
    t[1] = a[i].y;
    t[2] = t[0] + t[1];
    t[3] = t[2] * t[0];
    int u[4] = t;
    u[1] = t[3];
    r[i] = ivec2(u[1] ^ u[2], t[1]);
}
