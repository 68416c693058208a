#version 450
// A loop reads elements of a buffer that depend on those before.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint place = i, sum = 0u;
    for (uint k = 0u; k < 10u; k++) {
        place = a[place];
        sum = sum * 3u + place;
    }
    r[i] = sum;
}
