#version 450
// The lower 64 bits of products.
// needs: int64
// dispatch: 3 1 1
// surface 0 0: 768 random
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { u64vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { u64vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = u64vec2(a[i].x * a[i].y, (a[i].x >> 32) * (a[i].y & 0xfffffffful));
}
