#version 450
// Lanes read and write the same buffer, each its own elements, several times.
// dispatch: 3 1 1
// surface 0 0: 384 ints
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Memory { ivec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i].x += 3;
    r[i].y = r[i].x * 2 - r[i].y;
    r[i].x ^= r[i].y;
    r[i] = r[i].yx;
}
