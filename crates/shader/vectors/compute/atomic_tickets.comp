#version 450
// Each lane gets another number; their sum, and the marks that they set, are the same in each order.
// dispatch: 3 1 1
// surface 0 0: 8 zero
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Counters { uint next, sum; };
layout(set = 0, binding = 1) writeonly buffer Marks { uint mark[]; };

void main() {
    uint ticket = atomicAdd(next, 1u);
    mark[ticket] = 7u;
    atomicAdd(sum, ticket * ticket);
}
