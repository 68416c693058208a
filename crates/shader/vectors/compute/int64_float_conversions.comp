#version 450
// Integers of 64 bits as floats, and back.
// needs: int64
// dispatch: 3 1 1
// surface 0 0: 768 random
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { i64vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int64_t x = a[i].x >> (i & 63u);
    uint64_t u = uint64_t(a[i].y) >> (i & 63u);
    float f = float(int(i) - 20) * 1073741824.0;
    uvec2 halves = unpackUint2x32(uint64_t(int64_t(f)));
    r[i] = uvec4(floatBitsToUint(float(x)), floatBitsToUint(float(u)), halves);
}
