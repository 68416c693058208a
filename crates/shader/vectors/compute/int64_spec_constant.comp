#version 450
// Specialization constants, and a constant, of 64 bits.
// dispatch: 1 1 1
// needs: int64
// surface 0 0: 128 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(constant_id = 0) const int64_t A = -5000000000l;
const uint64_t B = 0x123456789abcdeful;
layout(set = 0, binding = 0) writeonly buffer Output { int64_t r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = A * int64_t(i) + int64_t(B);
}
