#version 450
// Comparisons of vectors, and any, all, not, and mix by truth.
// dispatch: 3 1 1
// surface 0 0: 768 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { ivec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    ivec4 v = a[i], w = a[i].yzwx;
    bvec4 less = lessThan(v, w), same = equal(v & 3, w & 3);
    int bits = int(any(less)) | int(all(not(less))) << 1 | int(any(same)) << 2 | int(all(notEqual(v, w))) << 3;
    r[i] = ivec4(bits, mix(v.xyz, w.xyz, greaterThanEqual(v.xyz, w.xyz)));
}
