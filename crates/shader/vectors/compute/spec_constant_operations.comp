#version 450
// Arithmetic on specialization constants.
// dispatch: 1 1 1
// spec 0: 29
// spec 1: 0xfffffffb
// surface 0 0: 512 zero
layout(local_size_x = 16) in;
layout(constant_id = 0) const uint A = 5;
layout(constant_id = 1) const int B = 6;
const uint SUM = A + 7u;
const uint QUOTIENT = A / 3u;
const uint REST = A % 4u;
const uint BITS = (A << 3 | 5u) ^ 0xffu;
const int NEGATIVE = -B * 2 - 1;
const bool LESS = B < 3;
const int CHOSEN = LESS ? B : 100;
const uint NOT = ~A & 0xffffu;
layout(set = 0, binding = 0) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i * 2u] = ivec4(SUM, QUOTIENT, REST, BITS);
    r[i * 2u + 1u] = ivec4(NEGATIVE, int(LESS), CHOSEN + B / 2 + (B >> 1), NOT);
}
