#version 450
// Counts and sums by atomic operations of all lanes.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 64 small
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    atomicAdd(r[0], 1u);
    atomicAdd(r[a[i] & 7u], a[i]);
    if (a[i] > 20u) {
        atomicAdd(r[8], 0xffffffffu);
    }
}
