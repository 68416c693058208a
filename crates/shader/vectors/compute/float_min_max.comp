#version 450
// Smaller and larger floats, and limits.
// dispatch: 3 1 1
// surface 0 0: 384 floats
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = a[i].x, y = a[i].y;
    r[i] = vec4(min(x, y), max(x, y), clamp(x, -8.0, 8.0), clamp(y, min(x, 0.0), max(x, 0.0)));
}
