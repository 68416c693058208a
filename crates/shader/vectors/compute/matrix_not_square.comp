#version 450
// Products of matrices of 2 by 3 and 4 by 2.
// dispatch: 3 1 1
// surface 0 0: 768 quarters
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    mat2x3 m = mat2x3(a[i].xyz, a[i].wzy);
    mat4x2 n = mat4x2(a[i].x, 1.0, 2.0, a[i].y, 0.5, 0.25, -1.0, 3.0);
    mat4x3 product = m * n;
    r[i] = vec4(product[0].x + product[1].y, product[2].z, product[3].xy);
}
