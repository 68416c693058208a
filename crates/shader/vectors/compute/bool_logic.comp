#version 450
// Logical operators, with operands that have effects.
// dispatch: 3 1 1
// surface 0 0: 384 small
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec2 r[]; };

int calls = 0;

bool odd(int x) {
    calls++;
    return (x & 1) == 1;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    bool x = odd(a[i].x), y = a[i].y > 15;
    bool both = x && odd(a[i].y), either = x || odd(a[i].y + 1), one = x ^^ y;
    r[i] = ivec2(int(both) | int(either) << 1 | int(one) << 2 | int(!y) << 3, calls);
}
