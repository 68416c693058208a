#version 450
// Specialization constants as the size of a group.
// dispatch: 3 2 1
// spec 0: 6
// spec 2: 3
// surface 0 0: 864 zero
layout(local_size_x_id = 0, local_size_y_id = 2, local_size_z = 2) in;
layout(set = 0, binding = 0) writeonly buffer Output { uint r[]; };

void main() {
    uvec3 at = gl_GlobalInvocationID, size = gl_NumWorkGroups * gl_WorkGroupSize;
    uint i = (at.z * size.y + at.y) * size.x + at.x;
    r[i] = gl_LocalInvocationIndex * 1000u + gl_WorkGroupSize.x * 100u + gl_WorkGroupSize.y * 10u + gl_WorkGroupID.x;
}
