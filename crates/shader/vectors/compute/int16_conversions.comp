#version 450
// Integers of 16 bits as others and as floats, and back.
// needs: storage16 int16 int64
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { i16vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int16_t x = a[i].x;
    uint16_t u = uint16_t(a[i].y);
    int64_t wide = int64_t(x) * int64_t(100000);
    r[i] = ivec4(int(wide >> 8), int(uint64_t(u) * 7ul), int(float(x) * 2.0 + float(u)), int(int16_t(wide)) + int(uint16_t(float(u) * 0.25)));
}
