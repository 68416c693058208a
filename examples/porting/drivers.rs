//! The drivers: the operations that each makes for coherency today, and a frame of each.
//!
//! It is a model, written from the drivers' public sources. Buffers have 64 rows of 256 pixels of four bytes, unless stated otherwise.
//! `docs/porting.md` and this file follow these versions:
//!
//! - minigbm: {i915,xe,drv,drv_helpers,gbm}.c, cros_gralloc_buffer.cc of WayDroid-ATV/minigbm2 6024d3dd (i915.c: upstream ea2a75ab,
//!   2025-04-21)
//! - Mesa's cache operations: src/util/cache_ops_x86.c and cache_ops.h of bminor/mesa-mesa 555881e5; src/intel/common/intel_mem.c of Mesa
//!   24.0.3. `util_flush_range` executes MFENCE, CLFLUSH, and MFENCE again if the CPU has CLFLUSHOPT; `intel_flush_range` of 24.0.3 executed
//!   CLFLUSHOPT there. `util_flush_inval_range` flushes the last line twice, then executes MFENCE. The variants without fences execute
//!   CLFLUSHOPT or CLFLUSH.
//! - iris: 24.0.3 (pop-os/mesa 7a9f319c); later iris_bufmgr.c 4208981c, intel_device_info.c 4ff7b570 (pop-os/mesa, near 26.1),
//!   {i915,xe}/iris_kmd_backend.c 63861472 and 258eae93, isl.c 10131582 (bminor/mesa-mesa)
//! - anv: 24.0.3; later anv_device.c, anv_private.h 760c80e6 and xe/anv_batch_chain.c 025a3b4d (pop-os/mesa, near 26.1), anv_allocator.c
//!   10ab4048, anv_slab_bo.c 0b561f69, anv_image_host_copy.c 8dad0190, {i915,xe}/anv_device.c ddf2aa3a, {i915,xe}/anv_kmd_backend.c
//!   25dd3923, vulkan_hasvk/anv_device.c ddf2aa3a (bminor/mesa-mesa)
//! - libva-intel: intel-vaapi-driver fd727a4e (2.4.0.pre1); intel/intel_bufmgr_gem.c of libdrm 2.4.97 (grate-driver/libdrm 3e3c53ed)
//! - media-driver: intel/media-driver 950ba8f8 (2026-08-21), mos_bufmgr.c in media_softlet/linux/common/os/i915; intel/gmmlib 75792274
//!   (Gen11 policy)
//! - xf86-video-intel: src/sna/kgem.c and kgem.h, 2.99.917 (irql-notlessorequal/xf86-video-intel b13d6da0, 2026-03-30; kgem.c as of
//!   2a0d4fb1)

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::Path;
use gem_coherency::vocabulary::{Access, Domains};
use gem_coherency::{CachingMode, MmapMode, MocsClass};

use crate::model::{Act, Buffer, Calls, Creation, Driver, Handling, Mappings, Rows, Step, Store, Use};

/// The platforms of the table: one of each class of integrated parts.
pub const PLATFORMS: &[&str] = &["hsw", "chv", "glk", "jsl", "tgl", "mtl"];

/// All bytes of a buffer.
const WHOLE: Rows = Rows::range(0, 64 << 10);
/// 16 rows of 100 pixels.
const RECT: Rows = Rows::rect(20 * 1024 + 40, 400, 1024, 16);
/// A compressed picture.
const BITSTREAM: Rows = Rows::range(0, 10_000);
/// The second page.
const SECOND_PAGE: Rows = Rows::range(4096, 4096);

/// An ordinary MOCS entry: `isl_device_setup_mocs` selects it for private buffers from graphics version 9 on, except on Meteor
/// Lake, where no entry concerns an LLC. The other drivers are taken to select an ordinary one, too.
const ORDINARY: u8 = 2;
/// The first of the two entries that bypass the LLC on Jasper Lake and Elkhart Lake.
const AROUND_LLC: u8 = 16;

const SAMPLER: &[Path] = &[Path::Gpu(MocsClass::PageTable)];
const SAMPLER_AROUND_LLC: &[Path] = &[Path::Gpu(MocsClass::PageTable), Path::Gpu(MocsClass::BypassLlc)];
const SAMPLER_AND_DISPLAY: &[Path] = &[Path::Gpu(MocsClass::PageTable), Path::Display];

const CPU_READ: Act = Act::SetDomain(Domains::CPU, Domains::empty());
const CPU_WRITE: Act = Act::SetDomain(Domains::CPU, Domains::CPU);
const GTT_WRITE: Act = Act::SetDomain(Domains::GTT, Domains::GTT);

/// All drivers.
pub static DRIVERS: &[Driver] = &[
    Driver {
        name: "minigbm",
        platforms: PLATFORMS,
        stale_without: &["chv", "glk"],
        buffers: &[buffer(minigbm, Calls::Lock(SAMPLER)), buffer(minigbm, Calls::Lock(SAMPLER))],
        // A lock for writing, which the GPU reads; the GPU draws, and a lock for reading.
        frame: &[Step::Write(0, RECT), Step::Batch(&[read(0, WHOLE), write(1, WHOLE)]), Step::Read(1, WHOLE)],
        waits: false,
        reports_batches: false,
    },
    Driver {
        name: "minigbm, MOCS 16",
        // Those whose MOCS table lists the entry.
        platforms: &["jsl", "tgl"],
        stale_without: &["jsl"],
        buffers: &[buffer(minigbm, Calls::Lock(SAMPLER_AROUND_LLC))],
        frame: &[
            Step::Write(0, RECT),
            Step::Batch(&[Use { buffer: 0, access: Access::Read, rows: WHOLE, mocs: AROUND_LLC }]),
        ],
        waits: false,
        reports_batches: false,
    },
    Driver {
        name: "minigbm, scanout",
        platforms: PLATFORMS,
        stale_without: PLATFORMS,
        buffers: &[
            on_screen(minigbm_scanout, Calls::Lock(SAMPLER_AND_DISPLAY)),
            on_screen(minigbm, Calls::Lock(SAMPLER_AND_DISPLAY)),
        ],
        // The first is mapped WC, the second has a camera flag and is mapped WB.
        frame: &[
            Step::Write(0, RECT),
            Step::Show(0),
            Step::Write(1, RECT),
            Step::Show(1),
            Step::Batch(&[write(1, WHOLE)]),
            Step::Read(1, RECT),
        ],
        waits: false,
        reports_batches: false,
    },
    Driver {
        name: "iris",
        platforms: &["glk", "jsl", "tgl", "mtl"],
        stale_without: &[],
        buffers: &[
            buffer(iris_coherent, Calls::Marks),
            buffer(iris, Calls::Guards),
            buffer(iris_coherent, Calls::Guards),
        ],
        // A ring of constants that stays mapped, a transfer to vertices, a copy to a staging buffer that is read.
        frame: &[
            Step::Write(0, BITSTREAM),
            Step::Write(1, RECT),
            Step::Batch(&[read(0, BITSTREAM), read(1, WHOLE), write(2, WHOLE)]),
            Step::Read(2, WHOLE),
        ],
        waits: true,
        reports_batches: true,
    },
    Driver {
        name: "iris, exported",
        platforms: &["glk", "jsl", "tgl", "mtl"],
        stale_without: &["glk", "jsl", "tgl", "mtl"],
        buffers: &[on_screen(iris, Calls::Guards)],
        // A private buffer that was exported is mapped for a transfer, and shown.
        frame: &[Step::Write(0, RECT), Step::Show(0)],
        waits: true,
        reports_batches: true,
    },
    Driver {
        name: "anv",
        platforms: &["glk", "jsl", "tgl", "mtl"],
        stale_without: &["glk", "mtl"],
        buffers: &[
            buffer(anv_cached, Calls::Ranges(SAMPLER)),
            buffer(anv_coherent, Calls::None),
            buffer(anv_cached, Calls::Ranges(SAMPLER)),
        ],
        // Stores to cached and to coherent memory; a batch reads them, and writes memory that is read.
        frame: &[
            Step::Write(0, RECT),
            Step::Write(1, RECT),
            Step::Batch(&[read(0, WHOLE), read(1, WHOLE), write(2, WHOLE)]),
            Step::Read(2, WHOLE),
        ],
        waits: true,
        reports_batches: false,
    },
    Driver {
        name: "anv, map offset",
        platforms: &["glk", "jsl", "tgl", "mtl"],
        stale_without: &["glk", "mtl"],
        buffers: &[
            Buffer { pages: 2, ..buffer(anv_at_offset, Calls::Ranges(SAMPLER)) },
            Buffer { pages: 2, ..buffer(anv_at_offset, Calls::Ranges(SAMPLER)) },
        ],
        // The same with memory of two pages, of which the second is mapped.
        frame: &[
            Step::Write(0, SECOND_PAGE),
            Step::Batch(&[read(0, SECOND_PAGE), write(1, SECOND_PAGE)]),
            Step::Read(1, SECOND_PAGE),
        ],
        waits: true,
        reports_batches: false,
    },
    Driver {
        name: "libva-intel",
        platforms: &["hsw", "chv", "glk"],
        stale_without: &["chv", "glk"],
        buffers: &[
            buffer(libva_mapped, Calls::Guards),
            buffer(libva_subdata, Calls::Upload),
            buffer(libva_surface, Calls::Guards),
        ],
        // A subpicture, slice data, and a decoded surface that is waited for and read.
        frame: &[
            Step::Write(0, RECT),
            Step::Write(1, BITSTREAM),
            Step::Batch(&[read(0, WHOLE), read(1, BITSTREAM), write(2, WHOLE)]),
            Step::Read(2, WHOLE),
        ],
        waits: false,
        reports_batches: true,
    },
    Driver {
        name: "media-driver",
        platforms: &["glk", "jsl", "tgl", "mtl"],
        stale_without: &[],
        buffers: &[buffer(media, Calls::Guards), buffer(media, Calls::Guards), buffer(media, Calls::Guards)],
        // The upload of a surface, a bitstream, and a coded buffer that is read.
        frame: &[
            Step::Write(0, WHOLE),
            Step::Write(1, BITSTREAM),
            Step::Batch(&[read(0, WHOLE), read(1, BITSTREAM), write(2, BITSTREAM)]),
            Step::Read(2, BITSTREAM),
        ],
        waits: false,
        reports_batches: true,
    },
    Driver {
        name: "media-driver, WB",
        platforms: &["glk"],
        stale_without: &["glk"],
        buffers: &[buffer(media_mapped, Calls::Guards), buffer(media_mapped, Calls::Guards)],
        // mos_bo_map on every platform: a command buffer, and a status page that is read.
        frame: &[
            Step::Write(0, BITSTREAM),
            Step::Batch(&[read(0, BITSTREAM), write(1, SECOND_PAGE)]),
            Step::Read(1, SECOND_PAGE),
        ],
        waits: false,
        reports_batches: true,
    },
    Driver {
        name: "xf86-video-intel",
        platforms: &["hsw", "chv", "glk", "jsl", "tgl"],
        stale_without: &[],
        buffers: &[
            buffer(sna_cpu_pixmap, Calls::Guards),
            buffer(sna_gpu_pixmap, Calls::Guards),
            on_screen(sna_scanout, Calls::Guards),
        ],
        // Drawing into three pixmaps, their composition on the screen, and reading back.
        frame: &[
            Step::Write(0, RECT),
            Step::Write(1, RECT),
            Step::Write(2, RECT),
            Step::Batch(&[read(0, WHOLE), read(1, WHOLE), write(2, RECT)]),
            Step::Show(2),
            Step::Batch(&[write(0, WHOLE)]),
            Step::Read(0, WHOLE),
        ],
        waits: false,
        reports_batches: true,
    },
];

const fn buffer(handling: fn(&Machine) -> Handling, calls: Calls) -> Buffer {
    Buffer { pages: 16, handling, calls, framebuffer: false }
}

const fn on_screen(handling: fn(&Machine) -> Handling, calls: Calls) -> Buffer {
    Buffer { pages: 16, handling, calls, framebuffer: true }
}

const fn read(buffer: usize, rows: Rows) -> Use {
    Use { buffer, access: Access::Read, rows, mocs: ORDINARY }
}

const fn write(buffer: usize, rows: Rows) -> Use {
    Use { buffer, access: Access::Write, rows, mocs: ORDINARY }
}

fn has_llc(machine: &Machine) -> bool {
    machine.caps.contains(Caps::LLC)
}

/// True where anv and iris choose a PAT index for each object.
fn has_pat(machine: &Machine) -> bool {
    machine.caps.contains(Caps::PAT_AT_CREATE)
}

/// minigbm, i915.c: `i915_bo_invalidate` at each lock, `i915_bo_flush` at each unlock; drv.c: `drv_bo_map`.
fn minigbm(machine: &Machine) -> Handling {
    let after: &[Act] = if has_llc(machine) { &[] } else { &[Act::FlushMapping] };
    let around = Handling::around(MmapMode::Wb, &[CPU_WRITE], after);
    Handling { before_read: &[CPU_READ], mappings: Mappings::EachAccess, ..around }
}

/// minigbm, i915.c: `use_write_combining`; the rest as above.
fn minigbm_scanout(machine: &Machine) -> Handling {
    Handling { map: MmapMode::Wc, ..minigbm(machine) }
}

/// iris, iris_bufmgr.c: `flags_to_heap` for neither coherent nor scanout buffers.
fn iris(machine: &Machine) -> Handling {
    match (has_llc(machine), has_pat(machine)) {
        (true, _) => Handling::mapped(MmapMode::Wb),
        (false, true) => Handling::mapped(MmapMode::Wc).created(Creation::Pat(1)),
        (false, false) => Handling::mapped(MmapMode::Wc),
    }
}

/// iris, iris_bufmgr.c: `flags_to_heap` for `BO_ALLOC_COHERENT`, `alloc_fresh_bo` and `i915_bo_set_caching`.
fn iris_coherent(machine: &Machine) -> Handling {
    let cached = Handling::mapped(MmapMode::Wb);
    match (has_llc(machine), has_pat(machine)) {
        (true, _) => cached,
        (false, true) => cached.created(Creation::Pat(3)),
        (false, false) => cached.created(Creation::Caching(CachingMode::Cached)),
    }
}

/// anv, i915/anv_device.c: the type with `HOST_CACHED`; anv_device.c: `anv_FlushMappedMemoryRanges` and
/// `anv_InvalidateMappedMemoryRanges` after a map at offset 0.
fn anv_cached(machine: &Machine) -> Handling {
    let incoherent = Handling {
        after_write: &[Act::FlushRows],
        before_read: &[Act::FlushRows],
        ..Handling::mapped(MmapMode::Wb)
    };
    match (has_llc(machine), has_pat(machine)) {
        (true, _) => Handling::mapped(MmapMode::Wb),
        (false, true) => incoherent.created(Creation::Pat(0)),
        (false, false) => incoherent,
    }
}

/// The same after a map at offset 4096: both functions add the offset to that of the range.
fn anv_at_offset(machine: &Machine) -> Handling {
    let ahead = &[Act::FlushRowsAhead(4096)];
    match has_llc(machine) {
        true => anv_cached(machine),
        false => Handling { after_write: ahead, before_read: ahead, ..anv_cached(machine) },
    }
}

/// anv: the type with `HOST_COHERENT` and without `HOST_CACHED`; anv_allocator.c: `anv_bo_get_mmap_mode`.
fn anv_coherent(machine: &Machine) -> Handling {
    match (has_llc(machine), has_pat(machine)) {
        (true, _) => Handling::mapped(MmapMode::Wb),
        (false, true) => Handling::mapped(MmapMode::Wc).created(Creation::Pat(1)),
        (false, false) => Handling::mapped(MmapMode::Wc),
    }
}

/// intel-vaapi-driver, i965_drv_video.c: `i965_MapBuffer` maps for writing; libdrm, intel_bufmgr_gem.c:
/// `drm_intel_gem_bo_map`, `drm_intel_gem_bo_unmap`.
fn libva_mapped(_: &Machine) -> Handling {
    Handling::around(MmapMode::Wb, &[CPU_WRITE], &[Act::SwFinish])
}

/// libdrm, intel_bufmgr_gem.c: `drm_intel_gem_bo_subdata`.
fn libva_subdata(_: &Machine) -> Handling {
    Handling { store: Store::Pwrite, ..Handling::mapped(MmapMode::Wb) }
}

/// intel-vaapi-driver, i965_drv_video.c: `i965_SyncSurface` and then `i965_MapBuffer`; libdrm:
/// `drm_intel_gem_bo_wait_rendering`.
fn libva_surface(_: &Machine) -> Handling {
    Handling::around(MmapMode::Wb, &[GTT_WRITE, CPU_WRITE], &[Act::SwFinish])
}

/// media-driver, media_libva_util_next.cpp: `LockBuffer` and `LockSurface`, which use the aperture if `bIsAtomSOC`;
/// mos_bufmgr.c: `mos_gem_bo_map_gtt`.
fn media(machine: &Machine) -> Handling {
    match machine.platform.name {
        "glk" => Handling::around(MmapMode::Gtt, &[GTT_WRITE], &[]),
        _ => media_mapped(machine),
    }
}

/// media-driver, mos_bufmgr.c: `mos_gem_bo_map` of a cacheable buffer. PAT 3, which snoops, is assumed for gmmlib's index.
fn media_mapped(machine: &Machine) -> Handling {
    let mapped = Handling::around(MmapMode::Wb, &[Act::Wait], &[]);
    if has_pat(machine) { mapped.created(Creation::Pat(3)) } else { mapped }
}

/// xf86-video-intel, kgem.c: `kgem_create_cpu_2d`, `kgem_bo_sync__cpu_full`.
fn sna_cpu_pixmap(machine: &Machine) -> Handling {
    let mapped = Handling { before_read: &[CPU_READ], ..Handling::around(MmapMode::Wb, &[CPU_WRITE], &[]) };
    if has_llc(machine) { mapped } else { mapped.created(Creation::Caching(CachingMode::Cached)) }
}

/// xf86-video-intel, kgem.c: `kgem_bo_map` of a linear buffer.
fn sna_gpu_pixmap(machine: &Machine) -> Handling {
    match has_llc(machine) {
        true => Handling::around(MmapMode::Wb, &[CPU_WRITE], &[]),
        false => Handling::around(MmapMode::Wc, &[GTT_WRITE], &[]),
    }
}

/// xf86-video-intel, kgem.c: `__kgem_bo_make_scanout`, and `kgem_bo_map` of the result.
fn sna_scanout(machine: &Machine) -> Handling {
    let mapped = Handling::around(MmapMode::Wc, &[GTT_WRITE], &[]);
    if has_llc(machine) { mapped.created(Creation::Caching(CachingMode::Display)) } else { mapped }
}
