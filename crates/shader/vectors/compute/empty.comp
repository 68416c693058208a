#version 450
// A shader that does nothing.
// dispatch: 2 1 1
// surface 0 0: 64 random
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Memory { int r[]; };

void main() {
}
