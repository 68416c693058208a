#version 450
// Half floats in words: for each lane two words, and the results in their order.
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer Words { uvec2 words[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    vec2 first = unpackHalf2x16(words[at].x);
    results[4 * at] = floatBitsToUint(first.x);
    results[4 * at + 1] = floatBitsToUint(first.y);
    results[4 * at + 2] = packHalf2x16(first + vec2(1.0, 0.25));
    results[4 * at + 3] = packHalf2x16(uintBitsToFloat(words[at]));
}
