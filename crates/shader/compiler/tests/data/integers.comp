#version 450
// Functions of integers: for each lane four numbers, and the results in their order.
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer Numbers { uvec4 numbers[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };
const uint COUNT = 32;
uint side = 0;

bool counted(bool truth) { side++; return truth; }

uint switched(uint a) {
    uint sum = 0;
    switch (a) {
        default: sum += 1;
        case 3: sum += 10; break;
        case 1: sum += 100;
        case 2: sum += 1000;
        case 7: if (sum > 1000) break; sum += 10000; break;
        case 5: return 5;
    }
    return sum;
}

void main() {
    uint at = gl_GlobalInvocationID.x, first = at * COUNT;
    uint a = numbers[at].x, b = numbers[at].y, c = numbers[at].z, d = numbers[at].w;
    int offset = int(c & 31u), bits = min(int(d & 63u), 32 - offset);
    results[first] = bitfieldExtract(a, offset, bits);
    results[first + 1] = uint(bitfieldExtract(int(a), offset, bits));
    results[first + 2] = bitfieldInsert(a, b, offset, bits);
    results[first + 3] = bitfieldReverse(a);
    results[first + 4] = uint(bitCount(a));
    results[first + 5] = uint(findLSB(a));
    results[first + 6] = uint(findMSB(a));
    results[first + 7] = uint(findMSB(int(a)));
    uint high, low;
    results[first + 8] = uaddCarry(a, b, high);
    results[first + 9] = high;
    results[first + 10] = usubBorrow(a, b, high);
    results[first + 11] = high;
    umulExtended(a, b, high, low);
    results[first + 12] = high;
    results[first + 13] = low;
    int signedHigh, signedLow;
    imulExtended(int(a), int(b), signedHigh, signedLow);
    results[first + 14] = uint(signedHigh);
    results[first + 15] = uint(signedLow);
    results[first + 16] = uint(abs(int(a)));
    results[first + 17] = uint(sign(int(a)));
    results[first + 18] = uint(min(int(a), int(b)));
    results[first + 19] = max(a, b);
    results[first + 20] = uint(clamp(int(a), -100, 100));
    results[first + 21] = uint(int(a) % int(b | 1u));
    results[first + 22] = switched(a & 7u);
    uvec4 vector = numbers[at];
    vector[c & 3u] = 77u;
    results[first + 23] = vector.x ^ vector.y << 1 ^ vector.z << 2 ^ vector.w << 3;
    uvec4 mixed = mix(numbers[at], vector.wzyx, lessThan(numbers[at], numbers[at].yzwx));
    results[first + 24] = mixed.x ^ mixed.y << 1 ^ mixed.z << 2 ^ mixed.w << 3;
    results[first + 25] = uint(int(a) >> int(c & 31u));
    results[first + 26] = uint((a < b) == (c < d)) + 2u * uint((a < b) != (int(a) < int(b)));
    side = 0;
    bool both = a < b && counted(c < d), either = c > 5u || counted(d > b);
    results[first + 27] = side + 4u * uint(both) + 8u * uint(either);
    results[first + 28] = a / (b | 1u);
    results[first + 29] = uint(int(a) / int(b | 1u));
    results[first + 30] = a % (b | 1u);
    uint array[5] = uint[](9u, 8u, 7u, 6u, 5u);
    array[a % 5u] = c;
    results[first + 31] = array[b % 5u] + array[2];
}
