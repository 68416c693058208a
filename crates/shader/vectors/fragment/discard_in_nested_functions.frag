#version 450
// Discards pixels in a function that another one calls in a loop.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

void check(int x) {
    if (x == 13) {
        discard;
    }
}

int sum(ivec4 v) {
    int all = 0;
    for (int k = 0; k < 4; k++) {
        check(v[k]);
        if (v[k] == 29) {
            return -1;
        }
        all += v[k];
    }
    return all;
}

void main() {
    color = ivec4(sum(value));
}
