#version 450
// Parts of floats before and after the point, by a function that stores one of them.
// dispatch: 3 1 1
// surface 0 0: 192 floats
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float whole;
    float part = modf(a[i], whole);
    r[i] = vec2(part, whole);
}
