#version 450
// Two floats as half floats in an integer, and back.
// dispatch: 3 1 1
// surface 0 0: 384 quarters
// surface 0 1: 768 zero
// refused: of type hf on hsw is not supported
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint packed = packHalf2x16(a[i]);
    vec2 back = unpackHalf2x16(packed ^ 0x80000000u);
    r[i] = uvec4(packed, floatBitsToUint(back), floatBitsToUint(unpackHalf2x16(0x3c00c000u + i).x));
}
