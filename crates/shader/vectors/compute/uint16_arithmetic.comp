#version 450
// Arithmetic and comparisons of unsigned integers of 16 bits, which wrap around.
// needs: storage16 int16
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 384 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { u16vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { u16vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint16_t x = a[i].x, y = a[i].y, z = a[i].z;
    r[i] = u16vec4(x + y * z, x > y ? z : ~z, (x >> 3) | (y << 9), clamp(x, min(y, z), max(y, z)));
}
