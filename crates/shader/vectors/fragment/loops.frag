#version 450
// Loops of a fragment shader over a table.
// pixels: 21 7
// input 0: uvec4 small
// output 0: uvec4
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 color;

const uint table[5] = uint[](3u, 1u, 4u, 1u, 5u);

void main() {
    uint sum = 0u;
    for (uint k = 0u; k < value.x; k++) {
        if ((k & 3u) == 2u) {
            continue;
        }
        sum += table[(k + value.y) % 5u];
    }
    color = uvec4(sum, value.yzw);
}
