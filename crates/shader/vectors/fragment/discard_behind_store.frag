#version 450
// Pixels store in a buffer, and are discarded after that.
// pixels: 16 6
// surface 0 0: 384 zero
// input 0: ivec4 small
// output 0: ivec4
layout(location = 0) flat in ivec4 value;
layout(location = 0) out ivec4 color;
layout(set = 0, binding = 0) writeonly buffer Memory { int r[]; };

void main() {
    uint i = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    r[i] = value.y;
    if (value.x > 10) {
        discard;
    }
    color = value;
}
