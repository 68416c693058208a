#version 450
// A struct as a parameter and as a result.
// dispatch: 3 1 1
// surface 0 0: 384 ints
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

struct Item {
    ivec2 v;
    int t[2];
};

Item turn(Item item, int by) {
    item.v = item.v.yx;
    item.t[by & 1] += by;
    return item;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    Item item = turn(Item(a[i], int[](1, 2)), int(i));
    item = turn(item, 3);
    r[i] = ivec4(item.v, item.t[0], item.t[1]);
}
