#version 450
// Inserts fields of bits, from 0 to 32 bits.
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int first = int(i % 20u), bits = int(i % 13u);
    uint x = a[i].x, y = a[i].y;
    r[i] = uvec4(bitfieldInsert(x, y, first, bits), bitfieldInsert(x, y, 8, 8), bitfieldInsert(x, y, 0, 32),
        uint(bitfieldInsert(int(x), int(y), 31, 1)));
}
