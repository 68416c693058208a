#version 450
// The place of a lane in groups of 7 by 1 by 3.
// dispatch: 2 1 2
// surface 0 0: 1344 zero
layout(local_size_x = 7, local_size_y = 1, local_size_z = 3) in;
layout(set = 0, binding = 0) writeonly buffer Output { uvec4 r[]; };

void main() {
    uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint i = group * 21u + gl_LocalInvocationIndex;
    r[i] = uvec4(gl_LocalInvocationID, gl_NumWorkGroups.z);
}
