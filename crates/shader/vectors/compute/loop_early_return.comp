#version 450
// Lanes end in a loop, and in loops in loops.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = 1u;
    for (uint x = 0u; x < 6u; x++) {
        if (x * 5u == a[i]) {
            r[i] = 100u + x;
            return;
        }
        for (uint y = 0u; y < 4u; y++) {
            if (x * y + 3u == a[i]) {
                r[i] = 200u + y;
                return;
            }
        }
    }
    r[i] = 2u;
}
