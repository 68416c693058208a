#version 450
// Differences of what a buffer has for pixels, which grows evenly in each direction.
// pixels: 16 8
// surface 0 0: 64 quarters
// output 0: vec4
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) readonly buffer Slopes { float slopes[]; };

void main() {
    uvec2 quad = uvec2(gl_FragCoord.xy) >> 1;
    float x = slopes[quad.x & 7u] * gl_FragCoord.x, y = slopes[8u + (quad.y & 3u)] * gl_FragCoord.y;
    color = vec4(dFdx(x), dFdy(y), dFdx(x + y), fwidth(x - y));
}
