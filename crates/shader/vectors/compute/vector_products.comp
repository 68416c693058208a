#version 450
// Dot and cross products, and reflections, of vectors whose results are exact.
// dispatch: 3 1 1
// surface 0 0: 768 quarters
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec4 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec3 v = a[i].xyz, w = a[i].wxy;
    vec3 crossed = cross(v, w);
    r[i] = vec4(crossed.xy + crossed.z, dot(v, w), dot(a[i].xy, a[i].zw)) + vec4(reflect(v.xy, vec2(0.0, 1.0)), 0.0, 0.0);
}
