#version 450
// Adds, subtracts, multiplies and negates integers of 64 bits.
// needs: int64
// dispatch: 3 1 1
// surface 0 0: 768 random
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { i64vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { i64vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int64_t x = a[i].x, y = a[i].y;
    r[i] = i64vec2(x + y * 3l, (x - y) ^ -x);
}
