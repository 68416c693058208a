#version 450
// Adds 1 to each number of binding 0, and stores the sums to binding 1.
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer Numbers { uint numbers[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };

void main() {
    sums[gl_GlobalInvocationID.x] = numbers[gl_GlobalInvocationID.x] + 1;
}
