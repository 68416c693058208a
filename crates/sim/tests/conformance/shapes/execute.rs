//! Submissions. Every list begins and ends with the batch, whichever of the two the flags mean, so
//! that what is accepted also ends; and objects whose address is looked at later lie at addresses of
//! the caller's choice, as the kernel's own differ.

use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_BUSY, DRM_IOCTL_I915_GEM_WAIT};
use gem_coherency_uapi::i915_exec::*;

use super::Values::{AnyHandle, Built, Fd, Of};
use super::{Builder, Field, Files, Kind, Out, Shape, f, ioctl, out};
use crate::processes::arena::{DATA, HOLE, READ_ONLY};

/// The batch's name.
const BATCH: u32 = 1;
/// The address that the caller chooses for objects, far from the kernel's entries in the global table.
const PLACE: u64 = 0x0800_0000;

type Object = drm_i915_gem_exec_object2;

/// An object that the kernel places.
fn object(handle: u32) -> Object {
    Object { handle, ..Default::default() }
}

fn with(handle: u32, flags: u64) -> Object {
    Object { flags, ..object(handle) }
}

/// An object at the caller's place.
fn pinned(handle: u32, offset: u64, flags: u64) -> Object {
    Object { offset, ..with(handle, EXEC_OBJECT_PINNED | flags) }
}

fn padded(handle: u32, flags: u64, bytes: u64) -> Object {
    Object { rsvd1: bytes, ..with(handle, flags) }
}

fn aligned(handle: u32, alignment: u64) -> Object {
    Object { alignment, ..object(handle) }
}

/// Puts a list down; addresses that are the kernel's choice are not compared.
fn list(builder: &mut Builder, objects: &[Object]) -> u64 {
    let address = builder.list(objects);
    for (number, object) in (0..).zip(objects) {
        if object.flags & EXEC_OBJECT_PINNED == 0 {
            builder.mask(address + number * 56 + 24, 8);
        }
    }
    address
}

/// Objects that stand between the batch and the batch.
const PAIRS: &[fn() -> [Object; 2]] = &[
    || [object(2), object(BATCH)],
    || [with(2, EXEC_OBJECT_WRITE), object(BATCH)],
    || [object(2), with(3, EXEC_OBJECT_WRITE)],
    || [with(3, EXEC_OBJECT_WRITE), object(2)],
    || [with(2, EXEC_OBJECT_WRITE), object(2)],
    || [object(2), with(2, EXEC_OBJECT_WRITE)],
    || [object(0), object(BATCH)],
    || [object(2), object(77)],
    || [with(BATCH, EXEC_OBJECT_WRITE), object(2)],
    || [with(2, EXEC_OBJECT_NEEDS_FENCE), object(BATCH)],
    || [with(2, EXEC_OBJECT_NEEDS_GTT), object(BATCH)],
    || [with(2, EXEC_OBJECT_SUPPORTS_48B_ADDRESS), object(BATCH)],
    || [with(2, EXEC_OBJECT_ASYNC | EXEC_OBJECT_WRITE), object(BATCH)],
    || [with(2, EXEC_OBJECT_CAPTURE), object(BATCH)],
    || [with(2, 1 << 8), object(BATCH)],
    || [with(2, 1 << 27), object(BATCH)],
    || [with(2, 1 << 31), object(BATCH)],
    || [with(2, 1 << 63), object(BATCH)],
    || [padded(2, EXEC_OBJECT_PAD_TO_SIZE, 0x10000), object(BATCH)],
    || [padded(2, EXEC_OBJECT_PAD_TO_SIZE, 0x10001), object(BATCH)],
    || [padded(2, EXEC_OBJECT_PAD_TO_SIZE, 4096), object(BATCH)],
    || [padded(2, EXEC_OBJECT_PAD_TO_SIZE, 1 << 33), object(BATCH)],
    || [padded(2, EXEC_OBJECT_PAD_TO_SIZE | EXEC_OBJECT_SUPPORTS_48B_ADDRESS, 1 << 33), object(BATCH)],
    || [padded(2, EXEC_OBJECT_PAD_TO_SIZE, 0u64.wrapping_sub(4096)), object(BATCH)],
    || [padded(2, 0, 0x10001), object(BATCH)],
    || [Object { rsvd2: 5, ..object(2) }, object(BATCH)],
    || [aligned(2, 3), object(BATCH)],
    || [aligned(2, 8), object(BATCH)],
    || [aligned(2, 1 << 20), object(BATCH)],
    || [aligned(2, 1 << 40), object(BATCH)],
    || [aligned(2, 1 << 63), object(BATCH)],
    || [pinned(2, PLACE, 0), object(BATCH)],
    || [pinned(2, PLACE, EXEC_OBJECT_WRITE), pinned(3, PLACE + 0x10_0000, 0)],
    || [pinned(2, PLACE, 0), pinned(3, PLACE + 0x3000, EXEC_OBJECT_WRITE)],
    || [pinned(2, PLACE, 0), pinned(3, PLACE, 0)],
    || [pinned(2, PLACE, 0), pinned(3, PLACE + 0x2000, 0)],
    || [pinned(2, PLACE, 0), pinned(2, PLACE + 0x10_0000, 0)],
    || [pinned(2, PLACE + 0x800, 0), object(BATCH)],
    || [pinned(2, PLACE + 0x10_0000, 0), object(BATCH)],
    || [pinned(2, 1 << 40, 0), object(BATCH)],
    || [pinned(2, 1 << 40, EXEC_OBJECT_SUPPORTS_48B_ADDRESS), object(BATCH)],
    || [pinned(2, 0xffff_e000, 0), object(BATCH)],
    || [pinned(2, 0xffff_c000, 0), object(BATCH)],
    || [pinned(2, 0x8000_0000_0000, EXEC_OBJECT_SUPPORTS_48B_ADDRESS), object(BATCH)],
    || [pinned(2, 0xffff_8000_0000_0000, EXEC_OBJECT_SUPPORTS_48B_ADDRESS), object(BATCH)],
    || [pinned(2, 0xffff_ffff_ffff_f000, EXEC_OBJECT_SUPPORTS_48B_ADDRESS), object(BATCH)],
    || [pinned(2, 0xffff_ffff_fffe_0000, EXEC_OBJECT_SUPPORTS_48B_ADDRESS), object(BATCH)],
    || [Object { alignment: 1 << 30, ..pinned(2, PLACE, 0) }, object(BATCH)],
    || [Object { rsvd1: 0x10_0000, ..pinned(2, PLACE, EXEC_OBJECT_PAD_TO_SIZE) }, object(BATCH)],
    || [object(3), object(4)],
    || [object(2), object(3)],
    || [Object { relocation_count: 1, ..object(2) }, object(BATCH)],
    || [Object { relocation_count: 1, relocs_ptr: HOLE, ..object(2) }, object(BATCH)],
    || [Object { relocation_count: 1, relocs_ptr: READ_ONLY, ..object(2) }, object(BATCH)],
    || [Object { relocation_count: u32::MAX, relocs_ptr: HOLE, ..object(2) }, object(BATCH)],
];

fn pair(builder: &mut Builder, pick: u16) -> u64 {
    let bad = [0, HOLE, HOLE - 56, READ_ONLY, 0x8000_0000_0000, u64::MAX - 7];
    match PAIRS.get(usize::from(pick)) {
        Some(pair) => {
            let [one, other] = pair();
            list(builder, &[object(BATCH), one, other, object(BATCH)])
        }
        None => bad[usize::from(pick) - PAIRS.len()],
    }
}

/// A relocation to the batch, which lies at [`PLACE`] + 1 MiB; by index it is to the object named 2.
fn relocation() -> drm_i915_gem_relocation_entry {
    drm_i915_gem_relocation_entry {
        target_handle: BATCH,
        delta: 0,
        offset: 64,
        presumed_offset: u64::MAX,
        read_domains: 2,
        write_domain: 0,
    }
}

type Relocations = Vec<drm_i915_gem_relocation_entry>;

/// The relocations of the object with handle 2, at [`PLACE`].
const RELOCATIONS: &[fn() -> Relocations] = &[
    || vec![relocation()],
    || vec![],
    || vec![drm_i915_gem_relocation_entry { presumed_offset: PLACE + 0x10_0000, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { delta: 0x40, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { delta: 0xffff_fff0, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { write_domain: 2, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { write_domain: 0x10, read_domains: 0x10, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { write_domain: 6, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { write_domain: 1, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { read_domains: 0x40, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { read_domains: 1 << 31, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { read_domains: 0, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { target_handle: 2, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { target_handle: 77, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { target_handle: 0, presumed_offset: 0, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 65, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 66, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 68, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 60, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 4092, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 12280, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 12284, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: 12288, ..relocation() }],
    || vec![drm_i915_gem_relocation_entry { offset: u64::MAX - 3, ..relocation() }],
    || vec![relocation(), drm_i915_gem_relocation_entry { offset: 5000, ..relocation() }],
    || vec![relocation(), drm_i915_gem_relocation_entry { target_handle: 77, ..relocation() }],
    || vec![relocation(), drm_i915_gem_relocation_entry { offset: 1, ..relocation() }],
    || (0..20).map(|n| drm_i915_gem_relocation_entry { offset: 200 * n, ..relocation() }).collect(),
    || {
        let last = drm_i915_gem_relocation_entry { read_domains: 1, ..relocation() };
        (0..18)
            .map(|n| drm_i915_gem_relocation_entry { offset: 8 * n, ..relocation() })
            .chain([last])
            .collect()
    },
];

fn relocations(builder: &mut Builder, pick: u16) -> u64 {
    let entries = RELOCATIONS[usize::from(pick)]();
    let relocs_ptr = if entries.is_empty() { 0 } else { builder.list(&entries) };
    let into = Object { relocation_count: entries.len() as u32, relocs_ptr, ..pinned(2, PLACE, 0) };
    let batch = pinned(BATCH, PLACE + 0x10_0000, 0);
    list(builder, &[batch, into, batch, batch])
}

/// Returns the value of the field of the fences.
fn fences(builder: &mut Builder, pick: u16) -> u64 {
    let fence = |handle, flags| drm_i915_gem_exec_fence { handle, flags };
    let chain = |builder: &mut Builder, next, name, flags, rsvd| {
        let base = gem_coherency_uapi::i915::i915_user_extension {
            next_extension: next,
            name,
            flags,
            rsvd: [0, rsvd, 0, 0],
        };
        builder.put(&drm_i915_gem_execbuffer_ext_timeline_fences { base, ..Default::default() })
    };
    let timeline = |builder: &mut Builder, fence_count, handles_ptr, values_ptr| {
        builder.put(&drm_i915_gem_execbuffer_ext_timeline_fences {
            fence_count,
            handles_ptr,
            values_ptr,
            ..Default::default()
        })
    };
    match pick {
        0 => 0,
        1 => builder.put(&fence(1, 0)),
        2 => builder.put(&fence(1, 3)),
        3 => builder.put(&fence(1, 4)),
        4 => HOLE,
        5 => 0x8000_0000_0000,
        6 => u64::MAX - 7,
        7 => chain(builder, 0, 0, 0, 0),
        8 => chain(builder, 0, 1, 0, 0),
        9 => chain(builder, 0, 0, 1, 0),
        10 => chain(builder, 0, 0, 0, 1),
        11 => chain(builder, HOLE, 0, 0, 0),
        12 => {
            let last = chain(builder, 0, 0, 0, 0);
            chain(builder, last, 0, 0, 0)
        }
        13 => {
            let own = crate::processes::arena::LISTS;
            let first = chain(builder, own, 0, 0, 0);
            assert!(first >= own);
            first
        }
        14 => {
            let (handles, values) = (builder.put(&fence(1, 0)), builder.put(&7u64));
            timeline(builder, 1, handles, values)
        }
        15 => {
            let (handles, values) = (builder.put(&fence(1, 8)), builder.put(&7u64));
            timeline(builder, 1, handles, values)
        }
        16 => timeline(builder, 1, HOLE, DATA),
        17 => {
            let handles = builder.put(&fence(1, 0));
            timeline(builder, 1, handles, HOLE)
        }
        18 => timeline(builder, u64::MAX / 16, DATA, DATA),
        19 => timeline(builder, 1 << 40, DATA, DATA),
        20 => timeline(builder, 1 << 59, DATA, DATA),
        _ => timeline(builder, 1 << 20, DATA, DATA),
    }
}
const FENCES: u16 = 22;

const BUFFERS: Field = f("buffers_ptr", 0, 8, Built(PAIRS.len() as u16 + 6, pair));
const COUNT: Field =
    f("buffer_count", 8, 4, Of(&[4, 1, 0, 0x8000_0000, 0xffff_ffff, 0x100_0000, 0x7fff_ffff]));
const ONLY_FOUR: Field = f("buffer_count", 8, 4, Of(&[4]));

/// A submission of the first file.
const fn submission(name: &'static str, weight: u32, fields: &'static [Field]) -> Shape {
    let kind = Kind::Ioctl(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR.code);
    Shape { name, kind, files: Files::First, weight, fields }
}

pub const SHAPES: &[Shape] = &[
    submission(
        "GEM_EXECBUFFER2_WR",
        8,
        &[
            BUFFERS,
            COUNT,
            f("batch_start_offset", 12, 4, Of(&[0, 8, 1024, 4, 4096, 0xffff_fff8])),
            f("batch_len", 16, 4, Of(&[0, 8, 4096, 4104, 4, 0xffff_fff8])),
            f("DR1", 20, 4, Of(&[0, 1])),
            f("DR4", 24, 4, Of(&[0, 1, 0xffff_ffff])),
            f("num_cliprects", 28, 4, Of(&[0, 1])),
            f("cliprects_ptr", 32, 8, Of(&[0, 8])),
            f(
                "flags",
                40,
                8,
                Of(&[
                    0,
                    I915_EXEC_NO_RELOC,
                    I915_EXEC_HANDLE_LUT,
                    I915_EXEC_RENDER,
                    I915_EXEC_BSD,
                    I915_EXEC_BLT,
                    I915_EXEC_VEBOX,
                    5,
                    63,
                    I915_EXEC_BSD | 1 << 13,
                    I915_EXEC_BSD | 2 << 13,
                    I915_EXEC_BSD | 3 << 13,
                    1 << 13,
                    I915_EXEC_BLT | 2 << 13,
                    1 << 6,
                    I915_EXEC_GEN7_SOL_RESET,
                    I915_EXEC_BLT | I915_EXEC_GEN7_SOL_RESET,
                    I915_EXEC_SECURE,
                    I915_EXEC_IS_PINNED,
                    I915_EXEC_RESOURCE_STREAMER,
                    I915_EXEC_BATCH_FIRST,
                    I915_EXEC_BATCH_FIRST | I915_EXEC_NO_RELOC,
                    1 << 22,
                    1 << 63,
                ]),
            ),
            f("rsvd1", 48, 8, Of(&[0, 77, 1 << 32])),
            f("rsvd2", 56, 8, Of(&[0, 5 << 32])),
        ],
    ),
    submission(
        "GEM_EXECBUFFER2_WR relocations",
        6,
        &[
            f("buffers_ptr", 0, 8, Built(RELOCATIONS.len() as u16, relocations)),
            ONLY_FOUR,
            f("batch_len", 16, 4, Of(&[0, 8])),
            f(
                "flags",
                40,
                8,
                Of(&[0, I915_EXEC_NO_RELOC, I915_EXEC_HANDLE_LUT, I915_EXEC_HANDLE_LUT | I915_EXEC_BLT]),
            ),
        ],
    ),
    submission(
        "GEM_EXECBUFFER2_WR extensions",
        1,
        &[
            f("buffers_ptr", 0, 8, Built(1, pair)),
            ONLY_FOUR,
            f("num_cliprects", 28, 4, Of(&[0, 1])),
            f("cliprects_ptr", 32, 8, Built(FENCES, fences)),
            f(
                "flags",
                40,
                8,
                Of(&[I915_EXEC_USE_EXTENSIONS, I915_EXEC_USE_EXTENSIONS | I915_EXEC_FENCE_ARRAY]),
            ),
        ],
    ),
    submission(
        "GEM_EXECBUFFER2_WR fence array",
        1,
        &[
            f("buffers_ptr", 0, 8, Built(1, pair)),
            ONLY_FOUR,
            f("num_cliprects", 28, 4, Of(&[1, 0, 2, 0x2_0000, 0x2_0001, 0xffff_ffff])),
            f("cliprects_ptr", 32, 8, Built(7, fences)),
            f("flags", 40, 8, Of(&[I915_EXEC_FENCE_ARRAY])),
        ],
    ),
    submission(
        "GEM_EXECBUFFER2_WR fence out",
        3,
        &[
            f("buffers_ptr", 0, 8, Built(8, pair)),
            ONLY_FOUR,
            f(
                "flags",
                40,
                8,
                Of(&[
                    I915_EXEC_FENCE_OUT,
                    I915_EXEC_FENCE_OUT | I915_EXEC_FENCE_IN,
                    I915_EXEC_FENCE_OUT | I915_EXEC_FENCE_SUBMIT,
                    I915_EXEC_FENCE_OUT | I915_EXEC_FENCE_SUBMIT | I915_EXEC_FENCE_IN,
                    I915_EXEC_FENCE_OUT | I915_EXEC_BLT | I915_EXEC_GEN7_SOL_RESET,
                ]),
            ),
            f("rsvd2 in", 56, 4, Fd),
            out("rsvd2 out", 60, 4, Of(&[0, 9]), Out::Fd),
        ],
    ),
    ioctl(
        "GEM_BUSY",
        DRM_IOCTL_I915_GEM_BUSY.code,
        2,
        &[f("handle", 0, 4, AnyHandle), f("busy", 4, 4, Of(&[0, 5]))],
    ),
    ioctl(
        "GEM_WAIT",
        DRM_IOCTL_I915_GEM_WAIT.code,
        2,
        &[
            f("bo_handle", 0, 4, AnyHandle),
            f("flags", 4, 4, Of(&[0, 1])),
            out("timeout_ns", 8, 8, Of(&[0, u64::MAX, 1_000_000_000, 1 << 62, 1 << 63]), Out::Sign),
        ],
    ),
    ioctl("GEM_THROTTLE", DRM_IOCTL_I915_GEM_THROTTLE.code, 1, &[]),
];
