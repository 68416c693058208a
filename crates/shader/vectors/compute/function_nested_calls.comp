#version 450
// Functions that call functions, with results as arguments.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

int twice(int x) {
    return x * 2;
}

int more(int x, int y) {
    return twice(x) + y;
}

ivec2 both(int x) {
    return ivec2(more(x, 1), more(twice(x), x));
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    ivec2 v = both(more(a[i], int(i)));
    r[i] = more(v.x, v.y);
}
