#version 450
// Groups of 5 by 3 by 2 lanes, in three directions.
// dispatch: 3 2 2
// surface 0 0: 5760 zero
layout(local_size_x = 5, local_size_y = 3, local_size_z = 2) in;
layout(set = 0, binding = 0) writeonly buffer Output { uvec4 r[]; };

void main() {
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize, at = gl_GlobalInvocationID;
    uint i = (at.z * size.y + at.y) * size.x + at.x;
    r[i] = uvec4(gl_WorkGroupID, gl_LocalInvocationIndex);
}
