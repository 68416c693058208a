#version 450
// Push constants of several types.
// dispatch: 1 1 1
// push: 7 0x40400000 100 0xffffffff 5 6 1 2 3
// surface 0 0: 64 zero
layout(local_size_x = 16) in;
layout(push_constant) uniform Push {
    int x;
    float f;
    ivec2 v;
    int a[5];
};
layout(set = 0, binding = 0) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = x * int(f) + v.x - v.y + a[i % 5u];
}
