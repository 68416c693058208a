#version 450
// A fragment shader: inputs, outputs, differences between pixels, and pixels that are discarded.
layout(location = 0) in vec4 colour;
layout(location = 1) flat in uint kind;
layout(location = 0) out vec4 shown;
layout(location = 1) out uvec2 marked;
layout(binding = 0) uniform Light { vec3 direction; float power; } light;

vec3 shade(vec3 base) {
    if (kind == 2u) return base.bgr;
    return base * light.power;
}

void main() {
    if (colour.a < 0.25) discard;
    vec3 c = shade(colour.rgb) + vec3(dFdx(colour.r), dFdy(colour.g), fwidth(colour.b));
    marked = uvec2(gl_FragCoord.xy);
    if (kind == 3u) {
        shown = vec4(1.0);
        return;
    }
    shown = vec4(c * max(dot(c, light.direction), 0.0), colour.a);
}
