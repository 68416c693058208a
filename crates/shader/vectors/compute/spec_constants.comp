#version 450
// Specialization constants of each type, with new and with old values.
// dispatch: 1 1 1
// spec 1: 42
// spec 2: 0x40a00000
// spec 4: 1
// surface 0 0: 256 zero
layout(local_size_x = 16) in;
layout(constant_id = 0) const int OLD = 3;
layout(constant_id = 1) const int NEW = 4;
layout(constant_id = 2) const float REAL = 1.5;
layout(constant_id = 3) const bool YES = true;
layout(constant_id = 4) const bool NO = false;
layout(constant_id = 5) const uint MANY = 0xfffffff0u;
layout(set = 0, binding = 0) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = vec4(OLD * NEW, REAL, float(YES) + float(NO) * 2.0, float(MANY + 17u + i));
}
