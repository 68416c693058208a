// The parts that programs with draws and dispatches share. The encodings are those of Mesa's src/intel/genxml, gen9.xml to gen125.xml, which name the
// commands and structures here; the formats are those of src/intel/isl/isl.h. Graphics 9 (apl, glk), 11 (jsl), 12 (tgl) and 12.5 (mtl, dg2) differ in what
// `generation` tells apart.
#include "common.h"

enum { FORMAT_R32G32B32_FLOAT = 0x40, FORMAT_R8G8B8A8_UNORM = 0xc7, TOPOLOGY_TRIANGLES = 4 };

// 9, 11, 12 or 125.
static inline int generation(void) {
    int id = 0;
    struct drm_i915_getparam args = {.param = I915_PARAM_CHIPSET_ID, .value = &id};
    request("GETPARAM", DRM_IOCTL_I915_GETPARAM, &args);
    switch (id >> 8) {
        case 0x5a:              // Apollo Lake
        case 0x31: return 9;    // Gemini Lake
        case 0x4e: return 11;   // Jasper Lake
        case 0x9a: return 12;   // Tiger Lake
        case 0x7d:              // Meteor Lake
        case 0x56: return 125;  // DG2
        default: printf("refused: device %#x\n", id); exit(77);
    }
}

// A batch in the making.
struct commands {
    uint32_t *words, count;
};

static inline void emit(struct commands *commands, const uint32_t *words, uint32_t count) {
    memcpy(commands->words + commands->count, words, count * 4);
    commands->count += count;
}
#define EMIT(commands, ...) emit(commands, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

// Ends the batch; returns its length in bytes.
static inline uint32_t finish(struct commands *commands) {
    EMIT(commands, 0x05000000);
    if (commands->count % 2) EMIT(commands, 0);
    return commands->count * 4;
}

// 3DSTATE_VERTEX_BUFFERS with one buffer, and 3DSTATE_VERTEX_ELEMENTS with three floats of it: STORE_SRC of these, STORE_1_FP.
static inline void vertex_state(struct commands *commands, uint32_t mocs, uint32_t address, uint32_t size, uint32_t pitch) {
    EMIT(commands, 0x78080003, 1 << 14 | mocs << 17 | pitch, address, 0, size);
    EMIT(commands, 0x78090001, 1 << 25 | FORMAT_R32G32B32_FLOAT << 16, 0x11130000);
}

// 3DSTATE_VF_TOPOLOGY, and 3DPRIMITIVE: sequential or by indices.
static inline void draw(struct commands *commands, uint32_t indexed, uint32_t count, uint32_t start) {
    EMIT(commands, 0x784b0000, TOPOLOGY_TRIANGLES);
    EMIT(commands, 0x7b000005, indexed << 8, count, start, 1, 0, 0);
}

// STATE_BASE_ADDRESS of surface and dynamic states, at one address; the tables are there too (3DSTATE_BINDING_TABLE_POOL_ALLOC from 12.5 on).
static inline void state_base(struct commands *commands, uint32_t mocs, uint32_t address) {
    const uint32_t length = generation() == 9 ? 19 : 22;
    uint32_t words[22] = {0x61010000 | (length - 2)};
    words[4] = words[6] = address | mocs << 5 | 1;
    emit(commands, words, length);
    if (generation() == 125) EMIT(commands, 0x79190002, address | mocs << 1, 0, 0x1000);
}

// 3DSTATE_PS with a number of binding table entries and 8 pixels at a time, 3DSTATE_PS_EXTRA, 3DSTATE_BINDING_TABLE_POINTERS_PS.
static inline void pixel_shader(struct commands *commands, uint32_t entries, uint32_t table) {
    EMIT(commands, 0x7820000a, 0, 0, entries << 18, 0, 0, 1, 0, 0, 0, 0, 0);
    EMIT(commands, 0x784f0000, 1u << 31);
    EMIT(commands, 0x782a0000, table);
}

// RENDER_SURFACE_STATE of a linear image of 32 bits a pixel (SURFTYPE_2D).
static inline void image_state(uint32_t *state, uint32_t mocs, uint32_t address, uint32_t width, uint32_t height, uint32_t pitch) {
    const uint32_t words[16] = {
        1u << 29 | FORMAT_R8G8B8A8_UNORM << 18, mocs << 25, (height - 1) << 16 | (width - 1), pitch - 1, [8] = address};
    memcpy(state, words, sizeof words);
}
