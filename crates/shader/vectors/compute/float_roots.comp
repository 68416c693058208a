#version 450
// Square roots of squares, and their inverse.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float k = float(a[i] + 1u);
    r[i] = ivec2(roundEven(sqrt(k * k) * 64.0), roundEven(inversesqrt(k * k) * k * 1024.0));
}
