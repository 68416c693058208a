#version 450
// A switch with a default, and with several labels of one case.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int y;
    switch (a[i] % 7) {
    case 0:
        y = 10;
        break;
    case 1:
    case 4:
        y = a[i] + 20;
        break;
    case 5:
        y = -1;
        break;
    default:
        y = 99;
        break;
    }
    r[i] = y;
}
