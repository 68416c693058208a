#version 450
// Compares doubles, and chooses among them.
// needs: float64
// dispatch: 3 1 1
// surface 0 0: 768 doubles
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { dvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { dvec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    double x = a[i].x, y = (i & 3u) == 0u ? x : a[i].y;
    uint bits = uint(x < y) | uint(x <= y) << 1 | uint(x > y) << 2 | uint(x >= y) << 3 | uint(x == y) << 4 | uint(x != y) << 5;
    r[i] = dvec2(double(bits), x < y ? x : -y);
}
