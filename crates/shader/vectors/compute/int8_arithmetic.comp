#version 450
// Arithmetic and comparisons of signed bytes, which wrap around.
// needs: storage8 int8
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 192 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { i8vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { i8vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int8_t x = a[i].x, y = a[i].y;
    int8_t z = x < y ? x * y : -x;
    r[i] = i8vec4(x + y, x - y, z, (x >> 2) ^ (y << 3));
}
