#version 450
// A function with effects, called by some of the lanes.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

uint count = 0u;

void visit(uint depth) {
    count += depth;
    if (depth > 2u) {
        return;
    }
    count *= 3u;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    visit(1u);
    if (a[i] > 12u) {
        visit(a[i] & 3u);
    } else {
        for (uint k = 0u; k < a[i]; k += 3u) {
            visit(k);
        }
    }
    r[i] = count;
}
