#version 450
// Products of 64 bits, of integers with and without a sign.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint high, low;
    int above, below;
    umulExtended(a[i].x, a[i].y, high, low);
    imulExtended(int(a[i].x), int(a[i].y), above, below);
    r[i] = uvec4(high, low, above, below);
}
