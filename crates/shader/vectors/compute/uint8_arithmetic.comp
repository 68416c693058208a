#version 450
// Arithmetic and comparisons of unsigned bytes, which wrap around.
// needs: storage8 int8
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 192 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { u8vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { u8vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint8_t x = a[i].x, y = a[i].y, z = a[i].z;
    r[i] = u8vec4(x + y * z, x > y ? z : ~z, (x >> 3) | (y << 4), min(x, max(y, z)));
}
