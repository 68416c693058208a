#version 450
// Functions of floats, vectors, matrices and bits.
layout(local_size_x = 16) in;
struct Body { vec3 place; float mass; mat3 turn; ivec2 cell; };
layout(std430, binding = 0) buffer Bodies { Body bodies[]; };
layout(std140, binding = 1) uniform Settings { mat4 view; layout(row_major) mat3x4 rows; float eta; uint bits[3]; } settings;
layout(std430, binding = 2) buffer Numbers { vec4 floats[8]; uvec4 words[8]; uint counter; } numbers;

void main() {
    uint at = gl_GlobalInvocationID.x;
    Body body = bodies[at];
    vec3 p = body.turn * body.place + transpose(body.turn)[at % 3];
    vec4 q = settings.view * vec4(p, 1.0) + vec4(vec4(p, 0.5) * settings.rows, 0.0);
    vec3 n = normalize(p + vec3(0.5));
    q.xyz += reflect(p, n) + refract(n, n.zxy, settings.eta) + cross(p, n) + faceforward(n, p, q.xyz);
    q.w += length(p) + distance(p, n) + dot(p, n) + sqrt(abs(q.x)) + inversesqrt(1.0 + q.y * q.y);
    vec4 r = exp(-abs(q)) + exp2(min(q, vec4(3.0))) + log(1.0 + abs(q)) + log2(1.0 + abs(q)) + pow(abs(q), vec4(1.5));
    r += sin(q) + cos(q) + tan(q * 0.1) + radians(q) + degrees(q) + smoothstep(vec4(-1.0), vec4(1.0), q) + step(q, r);
    r += mix(q, r, 0.25) + fract(q) + floor(q) + ceil(q) + trunc(q) + roundEven(q) + sign(q) + clamp(q, -1.0, 1.0) + mod(q, vec4(3.0));
    r = mix(r, q, lessThan(q, r));
    if (any(isnan(r)) || any(isinf(r))) r = vec4(0.0);
    r[at & 3u] = fma(r.x, r.y, r.z);
    mat2 outer = outerProduct(r.xy, r.zw);
    numbers.floats[at & 7u] = r + vec4(outer[0], outer[1]);
    uint carry, borrow, high, low;
    uvec4 w = numbers.words[at & 7u];
    w.x = uaddCarry(w.x, w.y, carry) + usubBorrow(w.z, w.w, borrow) + carry + borrow;
    umulExtended(w.x, w.y, high, low);
    int signedHigh, signedLow;
    imulExtended(int(w.z), int(w.w), signedHigh, signedLow);
    w.y = bitfieldInsert(high, low, 5, int(w.z & 15u)) ^ uint(signedHigh) ^ uint(signedLow);
    w.z = bitfieldExtract(w.y, 3, 9) + uint(bitfieldExtract(int(w.y), 7, 11)) + bitfieldReverse(w.x) + uint(bitCount(w.x));
    w.w = uint(findLSB(w.x) + findMSB(w.y) + findMSB(int(w.z))) + floatBitsToUint(r.x) + uint(abs(int(w.w))) + uint(sign(int(w.z)));
    w.x += packUnorm4x8(r) + packSnorm4x8(r) + packUnorm2x16(r.xy) + packSnorm2x16(r.zw);
    vec4 back = unpackUnorm4x8(w.y) + unpackSnorm4x8(w.z);
    back.xy += unpackUnorm2x16(w.x) + unpackSnorm2x16(w.w);
    w += uvec4(back) + settings.bits[at % 3];
    numbers.words[at & 7u] = w;
    atomicAdd(numbers.counter, 1u);
    atomicMax(numbers.counter, w.x);
    bodies[at].cell += ivec2(p.xy) % 7 - atomicCompSwap(bodies[at].cell.y, 3, 4) / 3;
    bodies[at].turn[at % 3][1] = q.x;
}
