#version 450
// Inverse trigonometric and hyperbolic functions: for each lane two numbers, and the results in their order.
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer Numbers { vec2 numbers[]; };
layout(std430, binding = 1) writeonly buffer Results { float results[]; };
const uint COUNT = 10;

void main() {
    uint at = gl_GlobalInvocationID.x, first = at * COUNT;
    float x = numbers[at].x, y = numbers[at].y;
    results[first] = asin(x);
    results[first + 1] = acos(x);
    results[first + 2] = atan(x);
    results[first + 3] = atan(y, x);
    results[first + 4] = sinh(x);
    results[first + 5] = cosh(x);
    results[first + 6] = tanh(x);
    results[first + 7] = asinh(x);
    results[first + 8] = acosh(x);
    results[first + 9] = atanh(x);
}
