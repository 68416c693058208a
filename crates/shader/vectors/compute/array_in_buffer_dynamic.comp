#version 450
// Arrays of fixed length in a buffer, with dynamic indices.
// dispatch: 1 1 1
// surface 0 0: 320 small
// surface 0 1: 64 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input {
    uint x[16];
    uint y[4][8];
    uvec4 z[8];
};
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = x[i] + y[x[i] & 3u][i & 7u] * 100u + z[x[15u - i] & 7u][i & 3u] * 10000u;
}
