#version 450
// Half floats in buffers, which become floats at once.
// needs: storage16
// dispatch: 3 1 1
// surface 0 0: 192 halves
// surface 0 1: 192 zero
// refused: of type hf on hsw is not supported
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer Input { f16vec2 a[]; };
layout(set = 0, binding = 1) writeonly buffer Output { f16vec2 r[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec2 v = vec2(a[i]);
    r[i] = f16vec2(v.yx * 2.0 + 0.25);
}
