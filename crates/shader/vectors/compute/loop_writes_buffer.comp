#version 450
// A lane reads what it has written in a loop.
// dispatch: 1 1 1
// surface 0 0: 512 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Memory { uint r[]; };

void main() {
    uint first = gl_GlobalInvocationID.x * 8u;
    r[first] = first;
    r[first + 1u] = 1u;
    for (uint k = 2u; k < 8u; k++) {
        r[first + k] = r[first + k - 1u] + r[first + k - 2u];
    }
}
