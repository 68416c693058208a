#version 450
// A switch in a loop: cases that leave the switch, continue the loop, and end the lane.
// dispatch: 3 1 1
// surface 0 0: 192 random
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint bits = a[i], sum = 0u;
    for (uint k = 0u; k < 12u; k++) {
        uint digit = bits & 7u;
        bits >>= 2;
        switch (digit) {
        case 0u:
            continue;
        case 1u:
            sum += 1u;
            break;
        case 2u:
            sum *= 2u;
        case 3u:
            sum += 3u;
            break;
        case 7u:
            if (sum > 40u) {
                r[i] = sum + 5000u;
                return;
            }
            break;
        default:
            sum += k;
        }
        sum += 100u * uint(sum < 10u);
    }
    r[i] = sum;
}
