#version 450
// Determinants and inverses of matrices: for each lane 16 numbers, of which smaller matrices have the first ones.
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer Numbers { mat4 numbers[]; };
struct Result { mat4 inverse4; mat3 inverse3; mat2 inverse2; vec4 determinants; };
layout(std430, binding = 1) writeonly buffer Results { Result results[]; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    mat4 m = numbers[at];
    results[at].inverse4 = inverse(m);
    results[at].inverse3 = inverse(mat3(m));
    results[at].inverse2 = inverse(mat2(m));
    results[at].determinants = vec4(determinant(mat2(m)), determinant(mat3(m)), determinant(m), 0.0);
}
