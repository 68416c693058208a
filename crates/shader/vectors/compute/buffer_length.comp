#version 450
// The lengths of two arrays without a fixed length.
// dispatch: 2 1 1
// surface 0 0: 100 ints
// surface 0 1: 136 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { int a[]; };
layout(set = 0, binding = 1) writeonly buffer Output {
    int lengths[2];
    ivec2 r[];
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i == 0u) {
        lengths[0] = a.length();
        lengths[1] = r.length();
    }
    if (i < r.length()) {
        r[i] = ivec2(i < a.length() ? a[i] : -1, a.length() - int(i));
    }
}
