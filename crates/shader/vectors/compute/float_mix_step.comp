#version 450
// Linear mixtures and steps.
// dispatch: 3 1 1
// surface 0 0: 384 quarters
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = a[i].x, y = a[i].y;
    r[i] = vec4(mix(x, y, 0.25), mix(x, y, i > 20u), step(x, y), smoothstep(-16.0, 16.0, float(int(x) & 8) - 16.0));
}
