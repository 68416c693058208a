#version 450
// A default in the midst of the cases, which goes on in the next one.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int y = 5;
    switch (a[i] - 10) {
    case -3:
        y *= 2;
        break;
    default:
        y += 7;
    case 4:
        y *= 3;
        break;
    case 5:
        y = 0;
        break;
    }
    r[i] = y;
}
