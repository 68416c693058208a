#version 450
// A local array of vectors, with dynamic indices of both.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 t[3] = uvec4[](uvec4(i), uvec4(1u, 2u, 3u, 4u), uvec4(a[i], 0u, 7u, 9u));
    t[a[i] % 3u][i & 3u] = 1000u + i;
    r[i] = t[0] + t[i % 3u] * 2u + t[2].wzyx;
}
