#version 450
// Compares half floats, chooses and limits them.
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
    float16_t x = a[i].x, y = (i & 3u) == 0u ? x : a[i].y;
    uint bits = uint(x < y) | uint(x <= y) << 1 | uint(x > y) << 2 | uint(x >= y) << 3 | uint(x == y) << 4 | uint(x != y) << 5;
    r[i] = f16vec4(float16_t(bits), min(x, y), max(x, y), clamp(x, -8.0hf, abs(y)));
}
