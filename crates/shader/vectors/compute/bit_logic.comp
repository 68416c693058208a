#version 450
// And, or, exclusive or, and not.
// dispatch: 3 1 1
// surface 0 0: 384 random
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec2 v = a[i];
    r[i] = uvec4(v.x & v.y, v.x | v.y, v.x ^ v.y, ~v.x);
}
