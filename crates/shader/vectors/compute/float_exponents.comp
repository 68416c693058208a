#version 450
// Powers of two and logarithms to the base 2, rounded to exact numbers.
// dispatch: 3 1 1
// surface 0 0: 192 small
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ivec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    int k = int(a[i]) - 12;
    float power = uintBitsToFloat(uint(127 + k) << 23), inverse = uintBitsToFloat(uint(127 - k) << 23);
    r[i] = ivec4(roundEven(exp2(float(k)) * inverse * 256.0), roundEven(log2(power) * 64.0),
        roundEven(pow(2.0, float(k) * 0.5) * pow(2.0, float(k) * 0.5) * inverse * 256.0), roundEven(pow(3.0, 4.0)));
}
