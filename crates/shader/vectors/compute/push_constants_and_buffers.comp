#version 450
// Push constants that choose the elements of two buffers.
// dispatch: 2 1 1
// push: 20 3 1
// surface 0 0: 128 ints
// surface 1 0: 128 zero
layout(local_size_x = 16) in;
layout(push_constant) uniform Push {
    uint count;
    uint skip;
    uint flip;
};
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 1, binding = 0) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        r[flip == 1u ? count - 1u - i : i] = a[i + skip];
    }
}
