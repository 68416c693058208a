#version 450
// A case that falls through into the default behind another switch, in which lanes return.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int y = 0;
    switch (a[i] & 3) {
    case 0:
        if (a[i] > 20) {
            break;
        }
    case 2:
        switch (a[i] & 4) {
        case 0:
            if (a[i] < 9) {
                return;
            }
        }
        y += 2;
    default:
        y += 10;
        break;
    case 3:
        y = 7;
    }
    r[i] = y;
}
