#version 450
// Two discards, with stores before, between and behind them.
// pixels: 16 6
// surface 0 0: 1152 zero
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;
layout(set = 0, binding = 0) buffer Memory { int r[]; };

void main() {
    uint i = (uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x)) * 3u;
    r[i] = 1;
    if (value.x > 20) {
        discard;
    }
    r[i + 1u] = r[i] + 1;
    if (value.y > 20) {
        discard;
    }
    r[i + 2u] = 3;
    color = value;
}
