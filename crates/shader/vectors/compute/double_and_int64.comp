#version 450
// Doubles from and to integers of 64 bits, and their bits.
// needs: float64 int64
// dispatch: 3 1 1
// surface 0 0: 768 doubles
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { dvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { i64vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec2 halves = unpackDouble2x32(a[i].y);
    double back = packDouble2x32(uvec2(halves.x, halves.y ^ 0x80000000u));
    r[i] = i64vec2(int64_t(a[i].x * 1048576.0lf), int64_t(back * 4.0lf) + int64_t(double(int64_t(i) << 40)));
}
