#version 450
// Numbers of 8, 16 and 64 bits.
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 4, local_size_y = 2, local_size_z = 2) in;
layout(constant_id = 1) const int8_t SMALL = int8_t(-3);
layout(std430, binding = 0) buffer Bytes { uint8_t bytes[]; };
layout(std430, binding = 1) buffer Shorts { int16_t shorts[16]; i16vec4 vectors[]; };
layout(std430, binding = 2) buffer Longs { uint64_t longs[]; };

void main() {
    uint at = gl_LocalInvocationIndex + gl_WorkGroupID.z * 16;
    int16_t s = shorts[at & 15u] + int16_t(SMALL);
    shorts[at & 15u] = s * int16_t(bytes[at]);
    vectors[at] = vectors[at].wzyx << 2;
    uint64_t l = longs[at];
    uvec2 halves = unpack32(l);
    longs[at] = pack64(halves.yx) + (l >> 7) * uint64_t(bytes[at]);
    bytes[at] = uint8_t(min(uint(bytes[at]) + halves.x, 255u));
}
