#version 450
// Groups of 100 lanes, which several threads have.
// dispatch: 2 1 1
// surface 0 0: 800 ints
// surface 0 1: 800 zero
layout(local_size_x = 25, local_size_y = 4) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_WorkGroupID.x * 100u + gl_LocalInvocationIndex;
    r[i] = a[i] + int(gl_LocalInvocationID.y * 1000u + gl_GlobalInvocationID.x);
}
