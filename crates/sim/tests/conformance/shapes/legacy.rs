//! Requests that do nothing any more, and numbers that never meant anything.

use super::Values::Of;
use super::{Kind, Shape, f, ioctl};

/// Bytes that a struct may begin with.
const FIRST: &[u64] = &[0, 0x55, 0xff];

/// The struct's first byte.
const BYTE: &[super::Field] = &[f("first", 0, 1, Of(FIRST))];

/// A request by direction, number and size; with a struct, its first byte takes some values.
macro_rules! legacy {
    ($($name:literal: $direction:literal, $number:literal, $size:literal;)+) => {
        &[$(ioctl(
            concat!("legacy_", $name),
            ($direction << 30) | ($size << 16) | (0x64 << 8) | $number,
            1,
            if $size == 0 { &[] } else { BYTE },
        ),)+]
    };
}

pub const SHAPES: &[Shape] = legacy! {
    "GET_STATS": 2, 0x6, 248;
    "SET_UNIQUE": 1, 0x10, 16;
    "BLOCK": 3, 0x12, 8;
    "UNBLOCK": 3, 0x13, 8;
    "ADD_DRAW": 3, 0x27, 4;
    "RM_DRAW": 3, 0x28, 4;
    "FINISH": 1, 0x2c, 8;
    "UPDATE_DRAW": 1, 0x3f, 24;
    "I915_INIT": 1, 0x40, 68;
    "I915_FLUSH": 0, 0x41, 0;
    "I915_FLIP": 0, 0x42, 0;
    "I915_BATCHBUFFER": 1, 0x43, 32;
    "I915_IRQ_EMIT": 3, 0x44, 8;
    "I915_IRQ_WAIT": 1, 0x45, 4;
    "I915_SETPARAM": 1, 0x47, 8;
    "I915_ALLOC": 3, 0x48, 24;
    "I915_FREE": 1, 0x49, 8;
    "I915_INIT_HEAP": 1, 0x4a, 12;
    "I915_CMDBUFFER": 1, 0x4b, 32;
    "I915_DESTROY_HEAP": 1, 0x4c, 4;
    "I915_SET_VBLANK_PIPE": 1, 0x4d, 4;
    "I915_GET_VBLANK_PIPE": 2, 0x4e, 4;
    "I915_VBLANK_SWAP": 3, 0x4f, 12;
    "I915_nothing": 1, 0x50, 8;
    "I915_HWS_ADDR": 1, 0x51, 16;
    "I915_also_nothing": 1, 0x52, 8;
    "I915_GEM_INIT": 1, 0x53, 16;
    "I915_GEM_EXECBUFFER": 1, 0x54, 40;
    "I915_GEM_PIN": 3, 0x55, 24;
    "I915_GEM_UNPIN": 1, 0x56, 8;
    "I915_GEM_ENTERVT": 0, 0x59, 0;
    "I915_GEM_LEAVEVT": 0, 0x5a, 0;
    "I915_GET_SPRITE_COLORKEY": 3, 0x6a, 20;
    "MODE_ATTACHMODE": 3, 0xa8, 72;
    "MODE_DETACHMODE": 3, 0xa9, 72;
    "IRQ_BUSID": 3, 0x3, 16;
    "GET_MAP": 3, 0x4, 40;
    "MODESET_CTL": 1, 0x8, 8;
    "CONTROL": 1, 0x14, 8;
    "ADD_MAP": 3, 0x15, 40;
    "ADD_BUFS": 3, 0x16, 32;
    "MARK_BUFS": 1, 0x17, 32;
    "INFO_BUFS": 3, 0x18, 16;
    "MAP_BUFS": 3, 0x19, 24;
    "FREE_BUFS": 1, 0x1a, 16;
    "RM_MAP": 1, 0x1b, 40;
    "SET_SAREA_CTX": 1, 0x1c, 16;
    "GET_SAREA_CTX": 3, 0x1d, 16;
    "ADD_CTX": 3, 0x20, 8;
    "RM_CTX": 3, 0x21, 8;
    "MOD_CTX": 1, 0x22, 8;
    "GET_CTX": 3, 0x23, 8;
    "SWITCH_CTX": 1, 0x24, 8;
    "NEW_CTX": 1, 0x25, 8;
    "RES_CTX": 3, 0x26, 16;
    "DMA": 3, 0x29, 64;
    "LOCK": 1, 0x2a, 8;
    "UNLOCK": 1, 0x2b, 8;
    "nothing_2f": 3, 0x2f, 8;
    "AGP_ACQUIRE": 0, 0x30, 0;
    "AGP_RELEASE": 0, 0x31, 0;
    "AGP_ENABLE": 1, 0x32, 8;
    "AGP_INFO": 2, 0x33, 56;
    "AGP_ALLOC": 3, 0x34, 32;
    "AGP_FREE": 1, 0x35, 32;
    "AGP_BIND": 1, 0x36, 16;
    "AGP_UNBIND": 1, 0x37, 16;
    "SG_ALLOC": 3, 0x38, 16;
    "SG_FREE": 1, 0x39, 16;
};

/// A request of another type of device.
pub const OTHERS: &[Shape] = &[Shape {
    name: "legacy_of_another_device",
    kind: Kind::Ioctl(0xc008_6500),
    files: super::Files::All,
    weight: 1,
    fields: BYTE,
}];
