#version 450
// The bits of half floats as integers.
// needs: storage16 float16 int16
// dispatch: 3 1 1
// surface 0 0: 192 halves
// surface 0 1: 192 zero
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { f16vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { u16vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint16_t bits = float16BitsToUint16(a[i].x);
    float16_t back = uint16BitsToFloat16(bits ^ uint16_t(0x8000));
    r[i] = u16vec2(bits + uint16_t(1), float16BitsToUint16(back + a[i].y));
}
