#version 450
// Members of scalars, vectors of three, and arrays in std430.
// dispatch: 1 1 1
// surface 0 0: 1152 ints
// surface 0 1: 1152 zero
layout(local_size_x = 16) in;
struct Item {
    int x;
    ivec3 v;
    int y;
    ivec2 w;
    int z[5];
};
layout(set = 0, binding = 0) readonly buffer Input { Item a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { Item r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    Item item = a[i];
    item.v.y += item.x;
    item.z[3] = item.w.x ^ item.y;
    r[i] = item;
}
