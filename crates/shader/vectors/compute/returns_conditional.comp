#version 450
// Lanes return in several places, before and after stores.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (a[i] == 3) {
        return;
    }
    r[i].x = 1;
    if (a[i] > 20) {
        r[i].y = 5;
        return;
    }
    if (a[i] > 10) {
        if (a[i] > 15) {
            return;
        }
        r[i].x = 2;
    }
    r[i].y = a[i];
}
