#version 450
// Fields of bits, of integers with and without a sign, from 0 to 32 bits.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int first = int(i % 20u), bits = int(i % 13u), x = int(a[i]);
    r[i] = ivec4(bitfieldExtract(x, first, bits), int(bitfieldExtract(a[i], first, bits)), bitfieldExtract(x, 5, 9),
        bitfieldExtract(x, 0, 32));
}
