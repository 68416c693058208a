#version 450
// Groups of one lane.
// dispatch: 5 3 1
// surface 0 0: 60 zero
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) writeonly buffer Output { uint r[]; };

void main() {
    r[gl_WorkGroupID.y * 5u + gl_WorkGroupID.x] = gl_WorkGroupID.x * 10u + gl_WorkGroupID.y + gl_NumWorkGroups.y * 100u;
}
