//! Contexts, their parameters, and address spaces.

use bytemuck::{Pod, bytes_of, cast_slice};
use gem_coherency_uapi::i915::i915_user_extension;
use gem_coherency_uapi::i915_context::*;
use gem_coherency_uapi::i915_facts::DRM_IOCTL_I915_GET_RESET_STATS;

use super::Values::{Built, Of};
use super::{Builder, Field, Shape, f, ioctl};
use crate::processes::arena::HOLE;

/// Names of contexts.
const IDS: &[u64] = &[1, 0, 2, 3, 77, 0xffff_ffff];
const ENGINE_SETS: u16 = 34;

fn head(name: u32, next: u64) -> i915_user_extension {
    i915_user_extension { next_extension: next, name, ..Default::default() }
}

fn engine(class: u16, instance: u16) -> i915_engine_class_instance {
    i915_engine_class_instance { engine_class: class, engine_instance: instance }
}

const NONE: i915_engine_class_instance =
    i915_engine_class_instance { engine_class: 0xffff, engine_instance: 0xffff };

/// Puts down a head and what follows it.
fn with_tail<T: Pod>(builder: &mut Builder, head: &T, tail: &[i915_engine_class_instance]) -> u64 {
    let mut bytes = bytes_of(head).to_vec();
    bytes.extend_from_slice(cast_slice(tail));
    builder.list(&bytes)
}

fn engines(builder: &mut Builder, extensions: u64, engines: &[i915_engine_class_instance]) -> u64 {
    with_tail(builder, &i915_context_param_engines { extensions, engines: [] }, engines)
}

fn balance(builder: &mut Builder, index: u16, siblings: &[i915_engine_class_instance], next: u64) -> u64 {
    let head = i915_context_engines_load_balance {
        base: head(0, next),
        engine_index: index,
        num_siblings: siblings.len() as u16,
        ..Default::default()
    };
    with_tail(builder, &head, siblings)
}

fn bond(builder: &mut Builder, index: u16, master: [u16; 2], bonds: &[i915_engine_class_instance]) -> u64 {
    let head = i915_context_engines_bond {
        base: head(1, 0),
        master: engine(master[0], master[1]),
        virtual_index: index,
        num_bonds: bonds.len() as u16,
        ..Default::default()
    };
    with_tail(builder, &head, bonds)
}

fn parallel(builder: &mut Builder, width: u16, siblings: u16, of: &[i915_engine_class_instance]) -> u64 {
    let head = i915_context_engines_parallel_submit {
        base: head(2, 0),
        engine_index: 0,
        width,
        num_siblings: siblings,
        ..Default::default()
    };
    with_tail(builder, &head, of)
}

/// Returns the value that ENGINES is set to: the size, and the address.
fn engine_set(builder: &mut Builder, kind: u16) -> (u32, u64) {
    let (render, copy, video) = (engine(0, 0), engine(1, 0), engine(2, 0));
    let second = engine(2, 1);
    let extended = |builder: &mut Builder, extension: u64, slots: &[i915_engine_class_instance]| {
        (8 + 4 * slots.len() as u32, engines(builder, extension, slots))
    };
    match kind {
        0 => extended(builder, 0, &[render]),
        1 => extended(builder, 0, &[render, copy, video, NONE]),
        2 => extended(builder, 0, &[]),
        3 => extended(builder, 0, &[engine(0, 1)]),
        4 => extended(builder, 0, &[engine(5, 0)]),
        5 => extended(builder, 0, &[engine(0x100, 0x100)]),
        6 => extended(builder, 0, &[engine(0xffff, 0xfffe)]),
        7 => (7, engines(builder, 0, &[])),
        8 => (10, engines(builder, 0, &[render])),
        9 => (8 + 4 * 65, engines(builder, 0, &[NONE; 65])),
        10 => (8 + 4 * 64, engines(builder, 0, &[NONE; 64])),
        11 => (12, HOLE),
        12 => (12, HOLE - 8),
        13 => (u32::MAX - 3, engines(builder, 0, &[render])),
        14 => extended(builder, HOLE, &[render]),
        15 => {
            let extension = balance(builder, 0, &[video, second], 0);
            extended(builder, extension, &[NONE, render])
        }
        16 => {
            let extension = balance(builder, 0, &[video, video], 0);
            extended(builder, extension, &[NONE])
        }
        17 => {
            let extension = balance(builder, 0, &[video, copy], 0);
            extended(builder, extension, &[NONE])
        }
        18 => {
            let extension = balance(builder, 0, &[video], 0);
            extended(builder, extension, &[NONE])
        }
        19 => {
            let extension = balance(builder, 0, &[], 0);
            extended(builder, extension, &[NONE])
        }
        20 => {
            let extension = balance(builder, 0, &[video], 0);
            extended(builder, extension, &[render])
        }
        21 => {
            let extension = balance(builder, 1, &[video], 0);
            extended(builder, extension, &[NONE])
        }
        22 => {
            let extension = balance(builder, 0, &[video, engine(9, 9)], 0);
            extended(builder, extension, &[NONE])
        }
        23 => {
            let next = balance(builder, 0, &[copy], 0);
            let extension = balance(builder, 0, &[video], next);
            extended(builder, extension, &[NONE])
        }
        24 => {
            let extension = bond(builder, 0, [2, 0], &[second]);
            extended(builder, extension, &[render])
        }
        25 => {
            let extension = bond(builder, 0, [2, 0], &[]);
            extended(builder, extension, &[render])
        }
        26 => {
            let extension = bond(builder, 1, [2, 0], &[]);
            extended(builder, extension, &[render, NONE])
        }
        27 => {
            let extension = bond(builder, 0, [7, 0], &[]);
            extended(builder, extension, &[render])
        }
        28 => {
            let extension = parallel(builder, 2, 1, &[video, second]);
            extended(builder, extension, &[NONE])
        }
        29 => {
            let extension = parallel(builder, 2, 1, &[second, video]);
            extended(builder, extension, &[NONE])
        }
        30 => {
            let extension = parallel(builder, 2, 1, &[render, render]);
            extended(builder, extension, &[NONE])
        }
        31 => {
            let extension = parallel(builder, 1, 1, &[video]);
            extended(builder, extension, &[NONE])
        }
        32 => {
            let extension = parallel(builder, 2, 2, &[video, second, video, second]);
            extended(builder, extension, &[NONE])
        }
        _ => {
            let extension = builder.put(&head(3, 0));
            extended(builder, extension, &[render])
        }
    }
}

/// The address alone; the size is a field of its own.
fn engine_address(builder: &mut Builder, kind: u16) -> u64 {
    engine_set(builder, kind).1
}

/// Builds the value that SSEU is set to, or asked for; returns its address.
fn sseu(builder: &mut Builder, kind: u16) -> u64 {
    let whole = drm_i915_gem_context_param_sseu {
        slice_mask: 1,
        subslice_mask: 0xff,
        min_eus_per_subslice: 8,
        max_eus_per_subslice: 8,
        ..Default::default()
    };
    let half = drm_i915_gem_context_param_sseu { subslice_mask: 0x0f, ..whole };
    builder.put(&match kind {
        0 => whole,
        1 => half,
        2 => drm_i915_gem_context_param_sseu { subslice_mask: 3, ..whole },
        3 => drm_i915_gem_context_param_sseu { subslice_mask: 0x3f, ..whole },
        4 => drm_i915_gem_context_param_sseu { slice_mask: 3, ..whole },
        5 => drm_i915_gem_context_param_sseu { slice_mask: 0, ..whole },
        6 => drm_i915_gem_context_param_sseu { min_eus_per_subslice: 4, ..whole },
        7 => drm_i915_gem_context_param_sseu { max_eus_per_subslice: 16, ..whole },
        8 => drm_i915_gem_context_param_sseu { slice_mask: 0x101, ..whole },
        9 => drm_i915_gem_context_param_sseu { rsvd: 1, ..whole },
        10 => drm_i915_gem_context_param_sseu { flags: 2, ..whole },
        11 => drm_i915_gem_context_param_sseu { flags: 1, ..whole },
        12 => drm_i915_gem_context_param_sseu { flags: 1, engine: engine(7, 1), ..half },
        13 => drm_i915_gem_context_param_sseu { engine: engine(1, 0), ..half },
        14 => drm_i915_gem_context_param_sseu { engine: engine(0, 1), ..half },
        15 => drm_i915_gem_context_param_sseu { engine: engine(9, 0), ..half },
        _ => return HOLE - 16,
    })
}

/// Chains of extensions of CONTEXT_CREATE.
fn chain(builder: &mut Builder, kind: u16) -> u64 {
    let set = |builder: &mut Builder, param: drm_i915_gem_context_param, next: u64| {
        builder.put(&drm_i915_gem_context_create_ext_setparam { base: head(0, next), param })
    };
    let plain = |param, value| drm_i915_gem_context_param { param, value, ..Default::default() };
    match kind {
        0 => 0,
        1..=16 => set(builder, plain(u64::from(kind), 1), 0),
        17 => set(builder, plain(0x5, 0), 0),
        18 => set(builder, plain(0x8, 0), 0),
        19 => set(builder, plain(0xb, 0), 0),
        20 => set(builder, plain(0x6, 1023), 0),
        21 => set(builder, plain(0x6, 1024), 0),
        22 => set(builder, drm_i915_gem_context_param { ctx_id: 1, ..plain(0x5, 1) }, 0),
        23 => set(builder, drm_i915_gem_context_param { size: 4, ..plain(0x5, 1) }, 0),
        24 => builder.put(&head(1, 0)),
        25 => builder.put(&head(2, 0)),
        26 => HOLE - 40,
        27 => HOLE,
        28 => {
            let next = set(builder, plain(0x8, 1), 0);
            set(builder, plain(0x8, 0), next)
        }
        29 => {
            let next = set(builder, plain(0x6, 5000), 0);
            set(builder, plain(0x5, 0), next)
        }
        _ => {
            let (size, value) = engine_set(builder, kind - 30);
            set(builder, drm_i915_gem_context_param { size, param: 0xa, value, ..Default::default() }, 0)
        }
    }
}

/// Extensions of VM_CREATE, of which none is known.
fn no_extension(builder: &mut Builder, kind: u16) -> u64 {
    match kind {
        0 => 0,
        1 => builder.put(&head(0, 0)),
        2 => builder.put(&i915_user_extension { flags: 1, ..head(0, 0) }),
        _ => HOLE,
    }
}

const VALUES: &[u64] = &[1, 0, 2, 1023, 1024, u64::MAX, 1 << 32, u64::MAX - 1022, u64::MAX - 1023];

const GET: &[Field] = &[
    f("ctx_id", 0, 4, Of(IDS)),
    f("size", 4, 4, Of(&[0, 77])),
    f("param", 8, 8, Of(&[3, 4, 5, 6, 8, 9, 0xb, 0xd, 0, 1, 2, 0xa, 0xc, 0xe, 0xf, 0x10, u64::MAX])),
    f("value", 16, 8, Of(&[0, 99])),
];
const SET: &[Field] = &[
    f("ctx_id", 0, 4, Of(IDS)),
    f("size", 4, 4, Of(&[0, 1, 32])),
    f("param", 8, 8, Of(&[4, 5, 6, 8, 9, 0xb, 0xd, 0, 1, 2, 3, 0xa, 0xc, 0xe, 0xf, 0x10, 1 << 32, u64::MAX])),
    f("value", 16, 8, Of(VALUES)),
];

pub const SHAPES: &[Shape] = &[
    ioctl(
        "CONTEXT_CREATE",
        DRM_IOCTL_I915_GEM_CONTEXT_CREATE.code,
        2,
        &[f("ctx_id", 0, 4, Of(&[0, 9])), f("pad", 4, 4, Of(&[0, 1, 2, 4]))],
    ),
    ioctl(
        "CONTEXT_CREATE_EXT",
        DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT.code,
        4,
        &[
            f("ctx_id", 0, 4, Of(&[0, 9])),
            f("flags", 4, 4, Of(&[1, 0, 2, 3, 4, 0x8000_0001])),
            f("extensions", 8, 8, Built(30 + ENGINE_SETS, chain)),
        ],
    ),
    ioctl(
        "CONTEXT_DESTROY",
        DRM_IOCTL_I915_GEM_CONTEXT_DESTROY.code,
        1,
        &[f("ctx_id", 0, 4, Of(IDS)), f("pad", 4, 4, Of(&[0, 1]))],
    ),
    ioctl("CONTEXT_GETPARAM", DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM.code, 3, GET),
    ioctl(
        "CONTEXT_GETPARAM_sseu",
        DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM.code,
        1,
        &[
            f("ctx_id", 0, 4, Of(IDS)),
            f("size", 4, 4, Of(&[32, 0, 31, 33])),
            f("param", 8, 8, Of(&[7])),
            f("value", 16, 8, Built(17, sseu)),
        ],
    ),
    ioctl("CONTEXT_SETPARAM", DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.code, 4, SET),
    ioctl(
        "CONTEXT_SETPARAM_sseu",
        DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.code,
        2,
        &[
            f("ctx_id", 0, 4, Of(IDS)),
            f("size", 4, 4, Of(&[32, 0, 31, 33])),
            f("param", 8, 8, Of(&[7])),
            f("value", 16, 8, Built(17, sseu)),
        ],
    ),
    ioctl(
        "CONTEXT_SETPARAM_engines",
        DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.code,
        2,
        &[
            f("ctx_id", 0, 4, Of(IDS)),
            f("size", 4, 4, Of(&[12, 8, 16, 20, 24, 7, 10, 264, 268])),
            f("param", 8, 8, Of(&[0xa])),
            f("value", 16, 8, Built(ENGINE_SETS, engine_address)),
        ],
    ),
    ioctl(
        "GET_RESET_STATS",
        DRM_IOCTL_I915_GET_RESET_STATS.code,
        1,
        &[
            f("ctx_id", 0, 4, Of(IDS)),
            f("flags", 4, 4, Of(&[0, 1])),
            f("reset_count", 8, 4, Of(&[0, 9])),
            f("batch_active", 12, 4, Of(&[0, 9])),
            f("batch_pending", 16, 4, Of(&[0, 9])),
            f("pad", 20, 4, Of(&[0, 1])),
        ],
    ),
    ioctl(
        "VM_CREATE",
        DRM_IOCTL_I915_GEM_VM_CREATE.code,
        2,
        &[
            f("extensions", 0, 8, Built(4, no_extension)),
            f("flags", 8, 4, Of(&[0, 1])),
            f("vm_id", 12, 4, Of(&[0, 9])),
        ],
    ),
    ioctl(
        "VM_DESTROY",
        DRM_IOCTL_I915_GEM_VM_DESTROY.code,
        1,
        &[
            f("extensions", 0, 8, Of(&[0, 1])),
            f("flags", 8, 4, Of(&[0, 1])),
            f("vm_id", 12, 4, Of(&[1, 0, 2, 3, 77])),
        ],
    ),
];
