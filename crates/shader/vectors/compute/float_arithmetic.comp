#version 450
// Adds, subtracts and multiplies floats whose results are exact.
// dispatch: 3 1 1
// surface 0 0: 384 floats
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = a[i].x, y = a[i].y;
    r[i] = vec4(x + y, x - y, x * y, -x * 8.0 + 0.5);
}
