#version 450
// The same matrix in row-major and in column-major members, with columns by a dynamic index.
// dispatch: 1 1 1
// surface 0 0: 1536 quarters
// surface 0 1: 256 zero
layout(local_size_x = 16) in;
struct Item {
    mat2x4 m;
    mat4x2 n;
    vec4 v;
};
layout(set = 0, binding = 0) readonly buffer Input {
    layout(row_major) mat2x4 m[16];
    layout(column_major) mat2x4 n[16];
    layout(row_major) mat4x2 o[8];
};
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = m[i][i & 1u] + n[i][(i >> 1) & 1u] * o[i & 7u][i & 3u].x;
}
