#version 450
// Products of matrices, vectors and numbers.
// dispatch: 3 1 1
// surface 0 0: 768 quarters
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    mat2 m = mat2(a[i].x, a[i].y, a[i].z, a[i].w);
    mat2 n = mat2(1.0, 2.0, -1.0, 0.5);
    mat2 product = m * n;
    vec2 left = a[i].xy * m, right = m * a[i].zw;
    product *= 2.0;
    r[i] = vec4(product[0] + left, product[1] - right);
}
