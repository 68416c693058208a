#version 450
// A discard whose condition is in a variable that is stored more than once.
// pixels: 21 7
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;

bool drop = false;

void main() {
    int x = value.x;
    if (value.y > 16) {
        x += 10;
    }
    drop = drop || x > 30;
    if (drop) {
        discard;
    }
    color = value + x;
}
