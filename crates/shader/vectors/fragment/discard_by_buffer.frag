#version 450
// Discards pixels by what a buffer has for them, after reads of another buffer.
// pixels: 16 8
// surface 0 0: 512 small
// surface 0 1: 2048 floats
// output 0: vec4
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) readonly buffer Mask { uint mask[]; };
layout(set = 0, binding = 1) readonly buffer Texels { vec4 texels[]; };

void main() {
    uint i = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x);
    vec4 texel = texels[i] + texels[127u - i];
    if (mask[i] < 16u) {
        discard;
    }
    color = texel;
}
