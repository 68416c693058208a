#version 450
// Lanes that return in a branch whose alternative others take, and that return in the alternative.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int y = 1;
    if (a[i] > 20) {
        return;
    } else {
        y = a[i];
    }
    r[i] = 2;
    if (a[i] > 5) {
        y += 100;
    } else {
        r[i] = 3;
        return;
    }
    r[i] = y;
}
