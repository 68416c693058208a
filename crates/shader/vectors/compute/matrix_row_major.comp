#version 450
// Matrices in a buffer, row by row: whole, a column, and a component.
// dispatch: 1 1 1
// surface 0 0: 768 quarters
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0, row_major) readonly buffer Input { mat3 a[]; };
layout(set = 0, binding = 1, row_major) buffer Output { mat3 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = a[i];
    r[i][1] = a[i][2] * 2.0;
    r[i][i % 3u].z = a[i][0][1];
}
