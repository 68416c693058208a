#version 450
// Branches within branches, some without an alternative.
// dispatch: 3 1 1
// surface 0 0: 768 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    ivec4 v = a[i];
    int y = 1;
    if (v.x > 8) {
        y += 10;
        if (v.y > 8) {
            y += 100;
            if (v.z > 8) {
                y += 1000;
            } else {
                y += 2000;
            }
        }
        y *= 2;
    } else {
        if (v.w < 20) {
            y = -y;
        }
        y -= v.x;
    }
    r[i] = y;
}
