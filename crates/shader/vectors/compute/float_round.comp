#version 450
// Rounds floats down, up, to zero, and to the nearest even one.
// dispatch: 3 1 1
// surface 0 0: 192 floats
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = vec4(floor(a[i]), ceil(a[i]), trunc(a[i]), roundEven(a[i]));
}
