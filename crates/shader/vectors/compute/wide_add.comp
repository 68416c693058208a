#version 450
// Sums with carries, and differences with borrows.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint carry, borrow;
    uint sum = uaddCarry(a[i].x, a[i].y, carry), difference = usubBorrow(a[i].x, a[i].y, borrow);
    r[i] = uvec4(sum, carry, difference, borrow);
}
