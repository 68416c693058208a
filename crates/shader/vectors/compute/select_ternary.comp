#version 450
// Chooses between numbers, vectors and structs.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

struct Pair {
    int x;
    ivec2 rest;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    Pair one = Pair(a[i].x, a[i]), two = Pair(7, ivec2(i));
    Pair chosen = a[i].x > a[i].y ? one : two;
    int both = a[i].x > 0 ? (a[i].y > 0 ? 3 : 2) : (a[i].y > 0 ? 1 : 0);
    r[i] = ivec4(chosen.x, chosen.rest, both);
}
