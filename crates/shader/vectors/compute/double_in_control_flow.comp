#version 450
// Doubles in arrays, functions and loops.
// needs: float64
// dispatch: 3 1 1
// surface 0 0: 384 doubles
// surface 0 1: 384 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { double a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { double r[]; };

double half_of(double x) {
    return x * 0.5lf;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    double t[3] = double[](a[i], 1.0lf, 0.0lf);
    for (uint k = 0u; k < (i & 7u); k++) {
        if (t[k % 3u] > 10.0lf) {
            continue;
        }
        t[(k + 1u) % 3u] += half_of(t[k % 3u]) + 0.25lf;
    }
    r[i] = t[0] + t[1] * 4.0lf - t[2];
}
