#version 450
// The lowest and the highest bits, of integers with and without a sign, and of 0 and -1.
// dispatch: 3 1 1
// surface 0 0: 192 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = i < 2u ? a[i] * 0u - i : a[i] >> (i & 31u);
    r[i] = ivec4(findLSB(x), findMSB(x), findMSB(int(a[i]) >> (i & 31u)), findLSB(int(x)) + findMSB(int(x)));
}
