#version 450
// Vectors that face another one, and refraction, close to the expected ones.
// dispatch: 3 1 1
// surface 0 0: 384 floats
// surface 0 1: 768 zero
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec2 n = vec2(0.0, 1.0), v = a[i];
    vec2 refracted = refract(vec2(0.0, -1.0), n, 0.5);
    r[i] = vec4(faceforward(v, v, n), float(abs(refracted.y + 1.0) < 0.0001), float(abs(refracted.x) < 0.0001));
}
