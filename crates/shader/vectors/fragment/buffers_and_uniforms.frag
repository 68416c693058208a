#version 450
// A storage buffer, a uniform block and push constants of a fragment shader.
// pixels: 16 4
// push: 3 5
// uniform 0 0: 48 ints
// surface 1 2: 256 ints
// surface 1 3: 256 zero
// output 0: ivec4
layout(location = 0) out ivec4 color;
layout(push_constant) uniform Push {
    int x;
    int y;
};
layout(set = 0, binding = 0) uniform Block {
    ivec4 v;
    int w[2];
};
layout(set = 1, binding = 2) readonly buffer Input { int a[]; };
layout(set = 1, binding = 3) writeonly buffer Output { int r[]; };

void main() {
    uint i = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    r[i] = a[63u - i] * x;
    color = v + ivec4(a[i], y, w[i & 1u], i);
}
