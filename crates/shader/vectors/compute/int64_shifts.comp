#version 450
// Shifts of integers of 64 bits, by less and by more than 32.
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
    uint by = (i * 7u) & 63u;
    int64_t s = int64_t(a[i].x);
    r[i] = u64vec2(a[i].x << by ^ uint64_t(s >> by), (a[i].y >> by) + (a[i].y << 32) + (a[i].y >> 33));
}
