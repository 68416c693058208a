#version 450
// A discard whose condition the pixel has stored before.
// pixels: 16 6
// surface 0 0: 384 small
// output 0: ivec4
layout(location = 0) out ivec4 color;
layout(set = 0, binding = 0) buffer Memory { int r[]; };

void main() {
    uint i = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    int before = r[i];
    r[i] = before * 2 - 20;
    if (r[i] > 10) {
        discard;
    }
    color = ivec4(before, r[i], i, 0);
}
