#version 450
// Quotients and rests of integers of 16 bits.
// needs: storage16 int16
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 384 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { u16vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { u16vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint16_t x = a[i].x, y = max(a[i].y >> uint16_t(i & 15u), uint16_t(1));
    int16_t s = int16_t(a[i].z), t = int16_t(a[i].w | uint16_t(2));
    t = t == int16_t(-1) ? int16_t(3) : t;
    r[i] = u16vec4(x / y, x % y, uint16_t(s / t), x / uint16_t(10));
}
