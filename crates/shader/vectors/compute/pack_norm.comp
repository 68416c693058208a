#version 450
// Floats as fixed-point numbers in an integer, and back.
// dispatch: 3 1 1
// surface 0 0: 768 quarters
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 back = unpackUnorm4x8(0xff00ff00u);
    r[i] = uvec4(packUnorm4x8(step(0.0, a[i])), packSnorm2x16(sign(a[i].xy)), uint(back.y + back.w) + uint(back.x),
        packSnorm4x8(sign(a[i])));
}
