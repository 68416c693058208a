#version 450
// Vectors of bytes in buffers.
// needs: storage8
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 768 zero
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { u8vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec4 v = uvec4(a[i]);
    r[i] = v.wzyx * 256u + v;
}
