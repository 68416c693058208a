#version 450
// Lengths, distances and unit vectors, rounded to exact numbers.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float k = float(a[i] + 1u);
    vec2 v = vec2(3.0, 4.0) * k;
    vec3 unit = normalize(vec3(2.0, -3.0, 6.0) * k) * 7.0;
    r[i] = ivec4(roundEven(length(v)), roundEven(unit.xz * 16.0), roundEven(distance(v, vec2(0.0, 4.0 * k))));
}
