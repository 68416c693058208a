#version 450
// A specialization constant as the length of a local array, and as the limit of a loop.
// dispatch: 1 1 1
// spec 7: 6
// surface 0 0: 64 zero
layout(local_size_x = 16) in;
layout(constant_id = 7) const uint COUNT = 3;
layout(set = 0, binding = 0) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint t[COUNT];
    for (uint k = 0u; k < COUNT; k++) {
        t[k] = k * k + i;
    }
    uint sum = 0u;
    for (uint k = 0u; k < COUNT; k++) {
        sum = sum * 2u + t[COUNT - 1u - k];
    }
    r[i] = sum;
}
