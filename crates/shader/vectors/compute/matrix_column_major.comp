#version 450
// A matrix in a buffer, column by column, each one at a multiple of 16 bytes.
// dispatch: 1 1 1
// surface 0 0: 896 quarters
// surface 0 1: 768 zero
layout(local_size_x = 14) in;
struct Item {
    mat3 m;
    float f;
};
layout(set = 0, binding = 0) readonly buffer Input { Item a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { mat3 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    mat3 m = a[i].m;
    m[1] += a[i].f;
    m[2].y = a[i].m[0].z;
    r[i] = m;
}
