#version 450
// Cases that go on in the next one.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint y = 0u;
    switch (a[i] & 7u) {
    case 3u:
        y += 1000u;
    case 2u:
        y += 100u;
        if (i > 20u) {
            break;
        }
    case 1u:
        y += 10u;
    case 0u:
        y += 1u;
        break;
    case 6u:
        y = 6u;
    }
    r[i] = y;
}
