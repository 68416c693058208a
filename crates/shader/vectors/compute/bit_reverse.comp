#version 450
// Reverses the order of bits.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = uvec2(bitfieldReverse(a[i]), uint(bitfieldReverse(int(a[i] >> 3))));
}
