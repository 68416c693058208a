#version 450
// Transposed matrices, outer products and products of components.
// dispatch: 3 1 1
// surface 0 0: 768 quarters
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    mat2x3 m = mat2x3(a[i].xyz, a[i].wxy);
    mat3x2 t = transpose(m);
    mat2 outer = outerProduct(a[i].xy, a[i].zw);
    mat2 components = matrixCompMult(outer, mat2(1.0, 2.0, 3.0, 4.0));
    r[i] = vec4(t[2], components[0]) + vec4(t[0], components[1]);
}
