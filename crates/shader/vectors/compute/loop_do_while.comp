#version 450
// A loop whose condition is after its body.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i], steps = 0u;
    do {
        x = (x & 1u) == 0u ? x / 2u : x * 3u + 1u;
        steps++;
    } while (x > 1u && steps < 200u);
    r[i] = steps;
}
