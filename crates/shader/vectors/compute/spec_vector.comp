#version 450
// Vectors of specialization constants.
// dispatch: 1 1 1
// spec 0: 9
// surface 0 0: 256 zero
layout(local_size_x = 16) in;
layout(constant_id = 0) const int A = 1;
layout(constant_id = 1) const int B = 2;
const ivec3 V = ivec3(A, B, 5);
const ivec2 W = ivec2(V.z, A + V.x);
layout(set = 0, binding = 0) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = ivec4(V[i % 3u], W, V.y + W.y);
}
