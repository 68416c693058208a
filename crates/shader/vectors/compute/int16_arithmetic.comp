#version 450
// Arithmetic and comparisons of signed integers of 16 bits, which wrap around.
// needs: storage16 int16
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 384 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { i16vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { i16vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int16_t x = a[i].x, y = a[i].y;
    int16_t z = x < y ? x * y : -x;
    r[i] = i16vec4(x + y, x - y, z, (x >> 5) ^ (y << 7));
}
