#version 450
// Doubles from and to floats and integers.
// needs: float64
// dispatch: 3 1 1
// surface 0 0: 768 doubles
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { dvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { dvec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float f = float(a[i].x);
    int s = int(a[i].y);
    uint u = uint(abs(a[i].x));
    r[i] = dvec2(double(f) + double(s) * 0.5lf, double(u) + double(int(i) - 30) * 1048576.0lf);
}
