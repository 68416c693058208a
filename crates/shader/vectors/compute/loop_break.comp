#version 450
// Lanes leave a loop at different times, in two places.
// dispatch: 3 1 1
// surface 0 0: 768 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int x = a[i].x, k;
    for (k = 0; k < 30; k++) {
        if (x > 500) {
            break;
        }
        x = x * 2 + a[i].y;
        if ((x & 31) == 7) {
            x = -x;
            break;
        }
    }
    r[i] = x * 100 + k;
}
