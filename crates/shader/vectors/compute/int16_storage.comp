#version 450
// Integers of 16 bits in buffers, which become ones of 32 bits at once.
// needs: storage16
// dispatch: 3 1 1
// surface 0 0: 96 random
// surface 0 1: 96 zero
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int16_t a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint16_t r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = int(a[i]);
    r[47u - i] = uint16_t(uint(x * 5 - 1));
}
