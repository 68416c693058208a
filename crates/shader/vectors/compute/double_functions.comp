#version 450
// Absolute values, smaller and larger doubles, and limits.
// needs: float64
// dispatch: 3 1 1
// surface 0 0: 768 doubles
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { dvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { dvec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    double x = a[i].x, y = a[i].y;
    r[i] = dvec2(abs(x) + min(x, y), max(x, y) * 2.0lf + clamp(y, -3.0lf, 3.0lf));
}
