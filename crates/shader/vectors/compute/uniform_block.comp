#version 450
// A uniform block in std140, whose arrays have strides of 16 bytes.
// dispatch: 1 1 1
// uniform 0 0: 144 ints
// surface 0 1: 64 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) uniform Block {
    int x;
    ivec3 v;
    int a[4];
    uvec2 w;
    uint u;
};
layout(set = 0, binding = 1) writeonly buffer Output { int r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = a[i & 3u] + x * v.z - int(w.y ^ u) + v[i % 3u];
}
