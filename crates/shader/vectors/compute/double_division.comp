#version 450
// Divides doubles; the product of the quotient and the divisor is close to the dividend.
// needs: float64
// dispatch: 3 1 1
// surface 0 0: 768 doubles
// surface 0 1: 192 zero
// refused: of type df is not supported
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { dvec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    double x = a[i].x, y = a[i].y == 0.0lf ? 3.0lf : a[i].y;
    r[i] = uint(abs(x / y * y - x) <= abs(x) * 0.0000000001lf);
}
