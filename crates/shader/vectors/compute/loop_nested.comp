#version 450
// Three loops in each other; the limits of the inner ones depend on the outer ones.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint sum = 0u;
    for (uint x = 0u; x < (a[i] & 7u); x++) {
        for (uint y = x; y < 6u; y++) {
            uint z = y;
            while (z > 0u) {
                sum += x + y * z;
                z /= 2u;
            }
        }
    }
    r[i] = sum;
}
