#version 450
// A local array with indices that are known at run time.
// dispatch: 3 1 1
// surface 0 0: 768 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint t[8];
    for (uint k = 0u; k < 8u; k++) {
        t[k] = k * k + i;
    }
    for (uint k = 0u; k < 4u; k++) {
        t[a[i][k] & 7u] += t[(a[i][k] + 3u) & 7u];
    }
    r[i] = uvec4(t[0] + t[4], t[1] + t[5], t[2] + t[6], t[3] + t[7]);
}
