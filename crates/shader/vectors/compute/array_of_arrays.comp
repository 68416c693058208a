#version 450
// A local array of arrays with dynamic indices.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint t[3][4];
    for (uint y = 0u; y < 3u; y++) {
        for (uint x = 0u; x < 4u; x++) {
            t[y][x] = y * 10u + x + a[i];
        }
    }
    t[a[i] % 3u][i & 3u] *= 5u;
    uint sum = 0u;
    for (uint k = 0u; k < 12u; k++) {
        sum = sum * 3u + t[k / 4u][k & 3u];
    }
    r[i] = sum;
}
