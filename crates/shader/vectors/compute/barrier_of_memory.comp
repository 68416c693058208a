#version 450
// Barriers of memory between accesses of a lane.
// dispatch: 2 1 1
// surface 0 0: 128 ints
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) coherent buffer Memory { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] += 1;
    memoryBarrierBuffer();
    r[i] *= 2;
    memoryBarrier();
    r[i] ^= 5;
}
