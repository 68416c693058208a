#version 450
// Integers of 64 bits as counters and as sums in a loop.
// needs: int64
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 768 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { u64vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint64_t x = 1ul, sum = 0ul;
    for (int64_t k = 0l; k < int64_t(a[i]); k++) {
        x = x * 6364136223846793005ul + 1ul;
        sum += x >> 33;
        if (sum > 0x300000000ul) {
            break;
        }
    }
    r[i] = u64vec2(x, sum);
}
