#version 450
// Writes single components of a vector in a buffer.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint k = 0u; k < 4u; k++) {
        r[i][(k + a[i]) & 3u] = int(k * 10u + i);
    }
}
