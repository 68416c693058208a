#version 450
// The sum of a product and a number, which may be rounded once or twice.
// dispatch: 3 1 1
// surface 0 0: 768 quarters
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    r[i] = vec2(fma(a[i].x, a[i].y, a[i].z), fma(-a[i].w, 2.0, a[i].x));
}
