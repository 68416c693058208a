#version 450
// A loop whose condition is after its body, with lanes that go to the condition early.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i] & 0xffffu, sum = 0u;
    do {
        x >>= 1;
        if ((x & 1u) == 1u) {
            continue;
        }
        sum += x;
    } while (x > 9u);
    r[i] = sum;
}
