#version 450
// Functions of half floats that are computed in single floats, and parts of them: for each lane a word of two, and the results in words.
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer Words { uint words[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };
const uint COUNT = 6;

void main() {
    uint at = gl_GlobalInvocationID.x, first = at * COUNT;
    f16vec2 a = unpackFloat2x16(words[at]);
    f16vec2 whole;
    ivec2 exponent;
    results[first] = packFloat2x16(atan(a));
    results[first + 1] = packFloat2x16(tanh(a));
    results[first + 2] = packFloat2x16(modf(a, whole));
    results[first + 3] = packFloat2x16(whole);
    f16vec2 significand = frexp(a, exponent);
    results[first + 4] = packFloat2x16(significand);
    results[first + 5] = packFloat2x16(ldexp(significand, exponent));
}
