#version 450
// The second discard depends on a read whose place the first one checks.
// pixels: 16 4
// surface 0 0: 256 signed
// surface 0 1: 128 small
// output 0: uvec4
layout(location = 0) out uvec4 color;
layout(set = 0, binding = 0) readonly buffer Places { int places[]; };
layout(set = 0, binding = 1) readonly buffer Texels { uint texels[]; };

void main() {
    uint i = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    int place = places[i];
    if (place < 0 || place >= 32) {
        discard;
    }
    uint texel = texels[place];
    if (texel < 8u) {
        discard;
    }
    color = uvec4(texel, place, i, 1u);
}
