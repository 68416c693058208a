#version 450
// Functions of half floats whose results are exact.
// needs: storage16 float16
// dispatch: 3 1 1
// surface 0 0: 192 halves
// surface 0 1: 384 zero
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { f16vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { f16vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float16_t x = a[i].x;
    r[i] = f16vec4(floor(x), ceil(x) + trunc(x), roundEven(x), sign(x) + fract(x));
}
