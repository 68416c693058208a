#version 450
// Integers of 16 bits in a uniform block and in push constants.
// dispatch: 1 1 1
// needs: storage16 int16 uniform16 push16
// uniform 0 0: 16 random
// push: 0x00050003 0xfffe8000
// surface 0 1: 64 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) uniform Block {
    int16_t x;
    u16vec2 v;
    i16vec4 w;
};
layout(push_constant) uniform Push {
    uint16_t p;
    int16_t q;
    i16vec2 s;
};
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = int(w[i & 3u] + x) * int(q) + int(v.y) * int(p) + int(s[i & 1u]);
}
