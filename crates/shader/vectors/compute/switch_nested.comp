#version 450
// A switch and a loop in a case.
// dispatch: 3 1 1
// surface 0 0: 384 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint y = 0u;
    switch (a[i].x % 3u) {
    case 0u:
        switch (a[i].y & 1u) {
        case 0u:
            y = 1u;
            break;
        default:
            y = 2u;
        }
        y += 10u;
        break;
    case 1u:
        for (uint k = 0u; k < 20u; k++) {
            if (k == a[i].y) {
                break;
            }
            y += k;
        }
        y += 1000u;
        break;
    }
    r[i] = y;
}
