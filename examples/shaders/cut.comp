#version 450
// Copies the first numbers only: how many, the push constants say. Each lane reads its number before it knows that it has nothing to do.
layout(local_size_x = 16) in;
layout(push_constant) uniform Limit { uint limit; };
layout(std430, binding = 0) readonly buffer From { uint from[]; };
layout(std430, binding = 1) writeonly buffer To { uint to[]; };

void main() {
    uint place = gl_GlobalInvocationID.x;
    uint number = from[place];
    if (place >= limit)
        return;
    to[place] = number;
}
