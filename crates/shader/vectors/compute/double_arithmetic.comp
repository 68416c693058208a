#version 450
// Adds, subtracts, multiplies and negates doubles.
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
    precise double sum = x + y * 1.000000001lf;
    r[i] = dvec2(sum, x * y - 0.5lf);
}
