#version 450
// The bits of floats as integers, and back.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float f = uintBitsToFloat(a[i] & 0xbf7fffffu | 0x20000000u);
    r[i] = uvec4(floatBitsToUint(f), uint(floatBitsToInt(-f)), floatBitsToUint(abs(f)), floatBitsToUint(float(i)));
}
