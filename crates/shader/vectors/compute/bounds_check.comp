#version 450
// Lanes after the end of the work return first.
// dispatch: 4 1 1
// surface 0 0: 4 45
// surface 0 1: 180 ints
// surface 0 2: 180 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Count { uint n; };
layout(set = 0, binding = 1) readonly buffer Input { int a[]; };
layout(set = 0, binding = 2) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) {
        return;
    }
    r[i] = a[n - 1u - i] * 2;
}
