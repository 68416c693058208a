#version 450
// Specialization constants that choose what a fragment shader does.
// pixels: 12 4
// spec 0: 1
// spec 5: 20
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;
layout(constant_id = 0) const bool TESTS = false;
layout(constant_id = 5) const int LIMIT = 3;

void main() {
    ivec4 sum = value + LIMIT;
    if (TESTS && value.x > LIMIT) {
        discard;
    }
    color = sum;
}
