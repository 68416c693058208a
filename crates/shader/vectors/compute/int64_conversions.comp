#version 450
// Integers of 64 bits from and to those of 32 bits, and their halves.
// needs: int64
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int64_t s = int64_t(a[i].x);
    uint64_t u = uint64_t(uint(a[i].x));
    uvec2 halves = unpackUint2x32(uint64_t(s) + u);
    uint64_t packed = packUint2x32(uvec2(a[i]));
    r[i] = ivec4(int(s >> 32), int(u >> 32), halves.x ^ halves.y, uint(packed >> 16));
}
