#version 450
// Structs in structs and arrays, in buffers and in variables.
// dispatch: 1 1 1
// surface 0 0: 640 ints
// surface 0 1: 640 zero
layout(local_size_x = 10) in;
struct Inner {
    int x;
    uint y;
};
struct Outer {
    Inner pair[3];
    Inner last;
    ivec2 v[4];
};
layout(set = 0, binding = 0) readonly buffer Input { Outer a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { Outer r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    Outer o = a[i];
    Inner first = o.pair[0];
    o.pair[0] = o.pair[i % 3u];
    o.pair[2].x = first.x - 1;
    o.last = Inner(int(first.y), uint(first.x));
    o.v[i & 3u] = a[i].v[(i + 1u) & 3u].yx;
    r[i] = o;
}
