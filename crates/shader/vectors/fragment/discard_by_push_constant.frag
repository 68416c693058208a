#version 450
// A discard whose condition is the same for all pixels, and one that compares with a push constant.
// pixels: 21 7
// push: 0 12
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;
layout(push_constant) uniform Push {
    int all;
    int limit;
};

void main() {
    ivec4 sum = value * 2;
    if (all != 0) {
        discard;
    }
    if (value.x < limit) {
        discard;
    }
    color = sum;
}
