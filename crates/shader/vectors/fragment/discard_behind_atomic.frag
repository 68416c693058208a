#version 450
// Pixels count themselves, and are discarded after that.
// pixels: 16 6
// surface 0 0: 16 zero
// input 0: uvec4 small
// output 0: uvec4
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 color;
layout(set = 0, binding = 0) buffer Counters { uint all, some; };

void main() {
    atomicAdd(all, 1u);
    if (value.x > 10u) {
        discard;
    }
    atomicAdd(some, value.y);
    color = value;
}
