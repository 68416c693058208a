#version 450
// Bytes in buffers, which become integers of 32 bits at once.
// needs: storage8
// dispatch: 3 1 1
// surface 0 0: 48 random
// surface 0 1: 48 zero
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int8_t a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint8_t r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = int(a[i]);
    r[47u - i] = uint8_t(uint(x * 3 + 1));
}
