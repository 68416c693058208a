#version 450
// Lanes skip parts of a loop.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint sum = 0u;
    for (uint k = 0u; k < 16u; k++) {
        if ((a[i] >> k & 1u) == 0u) {
            continue;
        }
        sum += k;
        if ((a[i] >> (k + 16u) & 1u) == 0u) {
            continue;
        }
        sum *= 2u;
    }
    r[i] = sum;
}
