#version 450
// The old numbers that atomic operations return, of elements that one lane has.
// dispatch: 2 1 1
// surface 0 0: 256 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Memory { uint m[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i * 6u] = atomicAdd(m[i], 5u);
    r[i * 6u + 1u] = atomicExchange(m[i], i * 3u);
    r[i * 6u + 2u] = atomicCompSwap(m[i], 9u, 1000u);
    r[i * 6u + 3u] = atomicCompSwap(m[i], i * 3u, 2000u + i);
    r[i * 6u + 4u] = atomicMax(m[i], 2010u);
    r[i * 6u + 5u] = atomicXor(m[32u + i], 3u) + m[i];
}
