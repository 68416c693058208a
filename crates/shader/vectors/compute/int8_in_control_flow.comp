#version 450
// Bytes as counters, as indices, and as values of a switch.
// needs: storage8 int8
// dispatch: 3 1 1
// surface 0 0: 48 random
// surface 0 1: 48 zero
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint8_t a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint8_t r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint8_t x = a[i], sum = uint8_t(0);
    uint8_t t[4] = uint8_t[](uint8_t(1), uint8_t(20), uint8_t(3), x);
    for (uint8_t k = uint8_t(0); k < (x & uint8_t(15)); k++) {
        if (k == uint8_t(9)) {
            break;
        }
        sum += t[k & uint8_t(3)];
    }
    switch (int(x) & 3) {
    case 0:
        sum ^= uint8_t(0x55);
        break;
    case 2:
        sum = -sum;
    }
    r[i] = sum;
}
