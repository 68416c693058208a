#version 450
// Functions that return in branches and in loops.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

uint root(uint x) {
    if (x < 2u) {
        return x;
    }
    for (uint k = 1u; k < 100u; k++) {
        if (k * k > x) {
            return k - 1u;
        }
    }
    return 100u;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint y = root(a[i] * 3u);
    r[i] = y * 100u + root(i);
}
