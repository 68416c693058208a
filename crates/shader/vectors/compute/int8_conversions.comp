#version 450
// Bytes as integers of other widths and as floats, and back.
// needs: storage8 int8 storage16 int16
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { i8vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int8_t x = a[i].x;
    uint8_t u = uint8_t(a[i].y);
    int16_t wide = int16_t(x) * int16_t(3);
    r[i] = ivec4(int(wide), int(uint16_t(u) << 4), int(float(x) * 2.0 + float(u)), int(int8_t(wide)) + int(uint8_t(float(u) * 0.5)));
}
