#version 450
// Quotients and rests of bytes.
// needs: storage8 int8
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 192 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { u8vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { u8vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint8_t x = a[i].x, y = max(a[i].y, uint8_t(1));
    int8_t s = int8_t(a[i].z), t = int8_t(a[i].w | uint8_t(2));
    t = t == int8_t(-1) ? int8_t(3) : t;
    r[i] = u8vec4(x / y, x % y, uint8_t(s / t), x / uint8_t(7));
}
