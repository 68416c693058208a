#version 450
// A loop without a condition.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i] + 1u;
    while (true) {
        x = x * 7u % 101u;
        if (x < 20u) {
            break;
        }
    }
    r[i] = x;
}
