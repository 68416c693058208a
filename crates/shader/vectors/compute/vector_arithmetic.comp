#version 450
// Operations on vectors, and on vectors and scalars.
// dispatch: 3 1 1
// surface 0 0: 768 floats
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 v = a[i] * 2.0 + a[i].wzyx;
    v -= vec4(1.0, 2.0, 3.0, 4.0);
    v.xyz *= a[i].x;
    r[i] = -v;
}
