#version 450
// Lanes take different branches.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i], y;
    if (x > 20) {
        y = x - 20;
    } else if (x > 10) {
        y = x * 100;
    } else {
        y = -x;
    }
    r[i] = y;
}
