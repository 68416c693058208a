#version 450
// Members with offsets that leave gaps, which stay as they are.
// dispatch: 1 1 1
// surface 0 0: 128 ints
// surface 0 1: 128 random
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer Input {
    layout(offset = 8) int x;
    layout(offset = 32) ivec4 v;
    layout(offset = 64) int a[4];
};
layout(set = 0, binding = 1) writeonly buffer Output {
    layout(offset = 4) int y;
    layout(offset = 48) ivec2 w;
    layout(offset = 80) int r[4];
};

void main() {
    uint i = gl_LocalInvocationID.x;
    r[i] = a[3u - i] + v[i];
    if (i == 2u) {
        y = x;
        w = v.zw;
    }
}
