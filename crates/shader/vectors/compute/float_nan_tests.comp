#version 450
// Tests for infinite floats, and for those that are not numbers.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint bits[4] = uint[](0x7fc00000u, 0x7f800000u, 0xff800000u, 0x7f7fffffu);
    float f = uintBitsToFloat(bits[a[i] & 3u]);
    r[i] = uint(isnan(f)) | uint(isinf(f)) << 1 | uint(f > 1.0) << 2 | uint(f != f) << 3;
}
