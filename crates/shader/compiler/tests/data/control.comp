#version 450
// Control flow: loops, switches, functions that return early, arrays that are indexed at run time, early returns and discards.
layout(local_size_x = 8, local_size_y = 2) in;
layout(constant_id = 3) const uint LIMIT = 100;
layout(constant_id = 5) const bool SCALED = true;
layout(std430, set = 0, binding = 0) readonly buffer Source { uint count; uint items[]; } source;
layout(std430, set = 0, binding = 1) buffer Result { uint results[]; } result;
layout(push_constant) uniform Push { uint scale; ivec2 offset; } push;

uint collatz(uint n) {
    for (uint step = 0; step < LIMIT; step++) {
        if (n == 1) return step;
        n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
    }
    return LIMIT;
}

void main() {
    uint at = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    if (at >= source.count || at >= result.results.length()) return;
    uint item = source.items[at];
    uint table[4] = uint[](3, 1, 4, 1);
    table[at & 3] += item;
    uint sum = 0;
    switch (item % 5) {
        case 0: sum = 10; break;
        case 1: sum = 20;
        case 2: sum += 5; break;
        case 3: if (item > 50) break; sum = 7;
        default: sum ^= 0xff;
    }
    do {
        if (sum > 30 && item != 4 || sum == 10) { sum -= 3; continue; }
        sum += collatz(sum + 1);
    } while (sum % 7 != 0 && sum < 1000);
    result.results[at] = sum + table[(at + 1) & 3] + (SCALED ? push.scale : 1) * uint(push.offset.x - int(item));
}
