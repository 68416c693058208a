#version 450
// Half floats from and to floats and integers, rounded to the nearest even one.
// needs: storage16 float16 int16
// dispatch: 3 1 1
// surface 0 0: 384 floats
// surface 0 1: 384 zero
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { f16vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float16_t x = float16_t(a[i].x * 1.125), y = float16_t(float(i) * 1.25 + 1024.25);
    int16_t k = int16_t(x);
    r[i] = f16vec4(x, y, float16_t(k) + float16_t(int(i) - 20), float16_t(float(x) * 0.5));
}
