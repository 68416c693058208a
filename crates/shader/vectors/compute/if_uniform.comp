#version 450
// A branch that all lanes of a group take, or none.
// dispatch: 3 1 1
// surface 0 0: 192 ints
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (gl_WorkGroupID.x == 1u) {
        r[i] = a[i] + 1;
    } else if (gl_WorkGroupID.x == 7u) {
        r[i] = -1;
    }
}
