#version 450
// A uniform block with matrices of both orders.
// dispatch: 1 1 1
// uniform 0 0: 176 quarters
// surface 0 1: 256 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) uniform Block {
    layout(row_major) mat4 m;
    mat3 n;
    layout(row_major) mat2x3 o;
    float f;
};
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = m * vec4(i, 1.0, 2.0, f) + vec4(n[i % 3u], o[i & 1u].z);
}
