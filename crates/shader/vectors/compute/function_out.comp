#version 450
// Parameters that a function only writes, and an array that it gets by value.
// dispatch: 3 1 1
// surface 0 0: 768 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

int extremes(int values[4], out int most) {
    int least = values[0];
    most = values[0];
    for (int k = 1; k < 4; k++) {
        least = min(least, values[k]);
        most = max(most, values[k]);
    }
    values[0] = 0;
    return least;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    int values[4] = int[](a[i].x, a[i].y, a[i].z, a[i].w);
    int most;
    int least = extremes(values, most);
    r[i] = ivec4(least, most, values[0], most - least);
}
