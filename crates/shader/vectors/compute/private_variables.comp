#version 450
// Variables of the module, with and without an initial value.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

int total = 5;
ivec2 last;
int table[3] = int[](1, 2, 3);

void add(int x) {
    total += x;
    last = ivec2(x, total);
    table[x % 3]++;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    add(a[i]);
    add(3);
    r[i] = ivec4(last, table[0] * 100 + table[1] * 10 + table[2], total);
}
