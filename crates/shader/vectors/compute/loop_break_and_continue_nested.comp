#version 450
// Breaks and continues of an inner loop in branches of an outer one.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint sum = 0u, bits = a[i];
    for (uint x = 0u; x < 8u; x++) {
        if ((bits & 3u) == 3u) {
            bits >>= 1;
            continue;
        }
        for (uint y = 0u; y < 5u; y++) {
            bits = bits * 5u + 1u;
            if ((bits >> 8 & 7u) == 0u) {
                break;
            }
            if ((bits >> 12 & 1u) == 0u) {
                continue;
            }
            sum += y;
        }
        if (sum > 20u) {
            sum += 1000u;
            break;
        }
        bits >>= 3;
    }
    r[i] = sum;
}
