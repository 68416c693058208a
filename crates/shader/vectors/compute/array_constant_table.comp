#version 450
// A constant table with a dynamic index.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

const uint table[7] = uint[](3u, 1u, 4u, 1u, 5u, 9u, 2u);

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = table[a[i] % 7u] * 100u + table[i % 7u];
}
