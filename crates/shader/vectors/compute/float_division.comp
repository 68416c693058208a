#version 450
// Divides floats; the product of the quotient and the divisor is close to the dividend.
// dispatch: 3 1 1
// surface 0 0: 384 floats
// surface 0 1: 192 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = a[i].x, y = a[i].y == 0.0 ? 3.0 : a[i].y;
    float quotient = x / y;
    r[i] = uint(abs(quotient * y - x) <= abs(x) * 0.00001);
}
