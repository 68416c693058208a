#version 450
// Absolute values and signs of integers and floats.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float f = float(a[i].x >> 8) * 0.25;
    r[i] = ivec4(abs(a[i].x), sign(a[i].y), int(abs(f) * 4.0), int(sign(f)));
}
