#version 450
// Bits that lanes set, clear and toggle by atomic operations.
// dispatch: 2 1 1
// surface 0 0: 128 random
// surface 0 1: 12 random
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    atomicOr(r[0], a[i] & 0x01010101u);
    atomicAnd(r[1], a[i] | 0xfff0fff0u);
    atomicXor(r[2], a[i]);
}
