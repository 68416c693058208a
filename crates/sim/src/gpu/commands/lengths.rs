//! The length of every command of the render, compute and video engines.
//!
//! A command stream can be walked without knowing what its commands do: bits 31:29 of the first dword name the
//! client, bits 28:23 the opcode of a command streamer command (MI), or bits 28:27, 26:24 and 23:16 the
//! pipeline, the opcode and the subopcode of any other. These determine the width of the length field, which
//! starts at bit 0 and is two less than the number of dwords.
//!
//! Sources: the default masks and the exceptions of i915's command parser (`i915_cmd_parser.c`:
//! `gen7_render_get_cmd_length_mask`, `gen7_bsd_get_cmd_length_mask` and the command tables), the fields
//! "DWord Length" of Mesa's `src/intel/genxml` and its `intel_group_get_length`, those of Intel's media driver
//! (`mhw_*_hwcmd_*.h`), for graphics 2 and 3 the decoders of xf86-video-intel (`kgem_debug_gen2.c`,
//! `kgem_debug_gen3.c`).
//!
//! Without a length, and so a hang, are clients other than MI, the pipelines and, on Xe2, RESOURCE_BARRIER, and MI opcodes that no source
//! lists for the engine and the generation: the manuals (EIR, "Instruction Error") name both as errors of the
//! command parser, and i915's parser refuses such a client with EINVAL. Any other opcode has a length: the
//! parser of i915 skips those that it does not list.

use Engines::{Any, Render, Video};
use Length::{One, Plus1, Plus2};

use super::Streamer;
use super::encoding::{
    CLIENT_BARRIERS, CLIENT_BLITTER, CLIENT_MI, CLIENT_PIPELINES, CLIENT_SHIFT, mi_opcode,
};
use crate::gpu::fault_log::HangCause;
use gem_coherency::platform::{EngineClass, Machine};

/// The encoding of a length in the first dword.
#[derive(Clone, Copy)]
enum Length {
    /// One dword; there is no length field.
    One,
    /// The number in this many bits, plus one.
    Plus1(u32),
    /// The number in this many bits, plus two.
    Plus2(u32),
}

/// The engines that have a command.
#[derive(Clone, Copy)]
enum Engines {
    Any,
    /// Render and compute engines.
    Render,
    /// Video and video enhancement engines.
    Video,
}

/// A generation, as Mesa numbers them: 45 for G45, 75 for Haswell, 125 for graphics 12.5.
type Generation = u16;

/// The first and the last generation.
const FIRST: Generation = 0;
const LAST: Generation = Generation::MAX;

/// MI commands: the opcode, the engines, the generations from the first to the last, and the length.
#[rustfmt::skip]
static MI: &[(u32, Engines, Generation, Generation, Length)] = &[
    (0x00, Any,    FIRST, LAST, One),       // MI_NOOP
    (0x01, Any,       75, LAST, One),       // MI_SET_PREDICATE
    (0x02, Any,    FIRST, LAST, One),       // MI_USER_INTERRUPT
    (0x03, Any,    FIRST, LAST, One),       // MI_WAIT_FOR_EVENT
    (0x04, Any,    FIRST, LAST, One),       // MI_FLUSH; MI_WAIT_FOR_EVENT_2
    (0x05, Any,    FIRST, LAST, One),       // MI_ARB_CHECK
    (0x06, Render,    75, LAST, One),       // MI_RS_CONTROL
    (0x07, Any,    FIRST, LAST, One),       // MI_REPORT_HEAD
    (0x08, Any,    FIRST, LAST, One),       // MI_ARB_ON_OFF
    (0x09, Render,    75,  100, One),       // MI_URB_ATOMIC_ALLOC
    (0x0a, Any,    FIRST, LAST, One),       // MI_BATCH_BUFFER_END
    (0x0b, Any,    FIRST, LAST, One),       // MI_SUSPEND_FLUSH
    (0x0c, Any,       70, LAST, One),       // MI_PREDICATE
    (0x0d, Any,       70, LAST, One),       // MI_TOPOLOGY_FILTER
    (0x0e, Any,       70, LAST, One),       // MI_SET_APPID
    (0x0f, Render,    75, LAST, One),       // MI_RS_CONTEXT
    (0x11, Render, FIRST,   45, Plus2(6)),  // MI_OVERLAY_FLIP
    (0x12, Render, FIRST, LAST, Plus2(6)),  // MI_LOAD_SCAN_LINES_INCL
    (0x13, Render, FIRST, LAST, Plus2(6)),  // MI_LOAD_SCAN_LINES_EXCL
    (0x14, Render, FIRST, LAST, Plus2(8)),  // MI_DISPLAY_FLIP
    (0x16, Any,       60,   75, Plus2(8)),  // MI_SEMAPHORE_MBOX
    (0x18, Any,    FIRST, LAST, Plus2(8)),  // MI_SET_CONTEXT
    (0x19, Render, FIRST,   80, Plus2(8)),  // MI_URB_CLEAR
    (0x1a, Any,       75,   80, Plus2(6)),  // MI_MATH
    (0x1a, Any,       90, LAST, Plus2(8)),
    (0x1b, Any,       80, LAST, Plus2(8)),  // MI_SEMAPHORE_SIGNAL
    (0x1c, Any,       80, LAST, Plus2(8)),  // MI_SEMAPHORE_WAIT
    (0x1d, Any,       90, LAST, Plus2(8)),  // MI_FORCE_WAKEUP
    (0x20, Any,    FIRST,   75, Plus2(6)),  // MI_STORE_DATA_IMM
    (0x20, Any,       80, LAST, Plus2(10)),
    (0x21, Any,    FIRST, LAST, Plus2(8)),  // MI_STORE_DATA_INDEX
    (0x22, Any,    FIRST, LAST, Plus2(8)),  // MI_LOAD_REGISTER_IMM
    (0x23, Any,       60,   75, Plus2(6)),  // MI_UPDATE_GTT
    (0x23, Any,       80, LAST, Plus2(10)),
    (0x24, Any,    FIRST, LAST, Plus2(8)),  // MI_STORE_REGISTER_MEM
    (0x26, Any,       60, LAST, Plus2(6)),  // MI_FLUSH_DW
    (0x27, Render,    60,   60, Plus2(6)),  // MI_CLFLUSH
    (0x27, Render,    70, LAST, Plus2(10)),
    (0x28, Render,    45, LAST, Plus2(6)),  // MI_REPORT_PERF_COUNT
    (0x29, Any,       70, LAST, Plus2(8)),  // MI_LOAD_REGISTER_MEM
    (0x2a, Any,       75, LAST, Plus2(8)),  // MI_LOAD_REGISTER_REG
    (0x2b, Render,    75, LAST, Plus2(8)),  // MI_RS_STORE_DATA_IMM
    (0x2c, Render,    75,  100, Plus2(8)),  // MI_LOAD_URB_MEM
    (0x2d, Render,    75,  100, Plus2(8)),  // MI_STORE_URB_MEM
    (0x2e, Any,       80, LAST, Plus2(8)),  // MI_COPY_MEM_MEM
    (0x2f, Any,       80, LAST, Plus2(8)),  // MI_ATOMIC
    (0x30, Any,    FIRST,   45, Plus2(6)),  // MI_BATCH_BUFFER
    (0x31, Any,    FIRST, LAST, Plus2(8)),  // MI_BATCH_BUFFER_START
    (0x36, Any,       60, LAST, Plus2(8)),  // MI_CONDITIONAL_BATCH_BUFFER_END
];

/// Commands of the other clients: mask and value of the first dword's upper half, the engines, the generations
/// from the first to the last, and the length. The first row that matches applies.
#[rustfmt::skip]
static OTHERS: &[(u32, u32, Engines, Generation, Generation, Length)] = &[
    // The blitter's commands, which the render engine executes before graphics 6.
    (0xe000, 0x4000, Render, FIRST,   50, Plus2(8)),
    // Graphics 2 and 3: the opcode is in bits 28:24. (3DPRIMITIVE is measured in `primitive`.)
    (0xffff, 0x7d00, Render, FIRST,   30, Plus2(6)),  // 3DSTATE_MAP_STATE
    (0xffff, 0x7d01, Render, FIRST,   30, Plus2(6)),  // 3DSTATE_SAMPLER_STATE
    (0xffff, 0x7d03, Render, FIRST,   30, Plus2(4)),  // 3DSTATE_LOAD_STATE_IMMEDIATE_2
    (0xffff, 0x7d04, Render, FIRST,   30, Plus2(4)),  // 3DSTATE_LOAD_STATE_IMMEDIATE_1
    (0xffff, 0x7d05, Render, FIRST,   30, Plus2(9)),  // 3DSTATE_PIXEL_SHADER_PROGRAM
    (0xffff, 0x7d07, Render, FIRST,   30, Plus1(8)),  // 3DSTATE_LOAD_INDIRECT
    (0xff00, 0x7d00, Render, FIRST,   30, Plus2(8)),
    (0xe000, 0x6000, Render, FIRST,   30, One),
    // Pipeline 0, common.
    (0xffff, 0x6104, Render,    40,   40, One),       // PIPELINE_SELECT
    (0xf800, 0x6000, Any,       40, LAST, Plus2(8)),
    // Pipeline 1: commands of one dword; MFX_WAIT, whose length is of another kind, has one, too.
    (0xf800, 0x6800, Any,       40, LAST, One),
    // Pipeline 2: media and general purpose, or video.
    (0xffff, 0x7104, Render,    70,  120, Plus2(8)),  // GPGPU_OBJECT
    (0xffff, 0x7105, Render,    70,  120, Plus2(8)),  // GPGPU_WALKER
    (0xff00, 0x7200, Render,   125, LAST, Plus2(8)),  // CFE_STATE, COMPUTE_WALKER
    (0xf800, 0x7000, Render,    40, LAST, Plus2(16)),
    (0xf800, 0x7000, Video,     40, LAST, Plus2(12)),
    // Pipeline 3: 3D.
    (0xffff, 0x780b, Render,    40,   40, One),       // 3DSTATE_VF_STATISTICS
    (0xffff, 0x7843, Render,    75,  100, Plus2(9)),  // 3DSTATE_BINDING_TABLE_EDIT_VS
    (0xffff, 0x7844, Render,    75,  100, Plus2(9)),  // 3DSTATE_BINDING_TABLE_EDIT_GS
    (0xffff, 0x7845, Render,    75,  100, Plus2(9)),  // 3DSTATE_BINDING_TABLE_EDIT_HS
    (0xffff, 0x7846, Render,    75,  100, Plus2(9)),  // 3DSTATE_BINDING_TABLE_EDIT_DS
    (0xffff, 0x7847, Render,    75,  100, Plus2(9)),  // 3DSTATE_BINDING_TABLE_EDIT_PS
    (0xffff, 0x7839, Render,    75,   75, Plus2(11)), // 3DSTATE_DX9_CONSTANTF_VS
    (0xffff, 0x783a, Render,    75,   75, Plus2(11)), // 3DSTATE_DX9_CONSTANTF_PS
    (0xffff, 0x7917, Render,    70, LAST, Plus2(9)),  // 3DSTATE_SO_DECL_LIST
    (0xf800, 0x7800, Any,       40, LAST, Plus2(8)),
    (0xe000, 0xa000, Render,   200, LAST, Plus2(8)),  // RESOURCE_BARRIER
];

/// 3DPRIMITIVE of graphics 2 and 3, in the upper bits of the first dword.
const PRIMITIVE: u32 = 0x7f;
/// 3DPRIMITIVE: the vertices are in a buffer, not in the command.
const INDIRECT: u32 = 1 << 23;
/// 3DPRIMITIVE: the command contains 16-bit indices of vertices.
const ELEMENTS: u32 = 1 << 17;
/// 3DPRIMITIVE: the number of indices.
const COUNT: u32 = 0xffff;
/// 3DPRIMITIVE: the number of bits of the length, with vertices in the command.
const INLINE_BITS: u32 = 18;

impl Length {
    fn dwords(self, first: u32) -> usize {
        let field = |bits: u32| (first & ((1 << bits) - 1)) as usize;
        match self {
            One => 1,
            Plus1(bits) => field(bits) + 1,
            Plus2(bits) => field(bits) + 2,
        }
    }
}

impl Engines {
    fn contain(self, engine: EngineClass) -> bool {
        let is_video = match engine {
            EngineClass::Render | EngineClass::Compute | EngineClass::Copy => false,
            EngineClass::Video | EngineClass::VideoEnhance => true,
        };
        match self {
            Any => true,
            Render => !is_video,
            Video => is_video,
        }
    }
}

/// Returns the generation of a machine.
pub(in crate::gpu) fn generation(machine: &Machine) -> Generation {
    let graphics = machine.platform.graphics;
    match machine.platform.name {
        "g45" | "gm45" => 45,
        "hsw" => 75,
        _ => Generation::from(graphics.major) * 10 + if graphics.minor >= 50 { 5 } else { 0 },
    }
}

/// Returns the number of dwords of the command that starts with `first`.
///
/// # Errors
/// The cause of the hang for a command that the engine does not have, or whose length is not measured.
pub(in crate::gpu) fn dwords(on: &Streamer, first: u32) -> Result<usize, HangCause> {
    let generation = generation(&on.machine);
    let has =
        |engines: Engines, since, until| engines.contain(on.engine) && (since..=until).contains(&generation);
    let length = match first >> CLIENT_SHIFT {
        CLIENT_MI => MI.iter().find_map(|&(opcode, engines, since, until, length)| {
            (opcode == mi_opcode(first) && has(engines, since, until)).then_some(length)
        }),
        CLIENT_PIPELINES if generation < 40 && first >> 24 == PRIMITIVE => return primitive(first),
        CLIENT_BLITTER | CLIENT_PIPELINES | CLIENT_BARRIERS => {
            OTHERS.iter().find_map(|&(mask, value, engines, since, until, length)| {
                (first >> 16 & mask == value && has(engines, since, until)).then_some(length)
            })
        }
        _ => None,
    };
    length.map(|length| length.dwords(first)).ok_or(HangCause::Unknown)
}

/// Returns the number of dwords of 3DPRIMITIVE on graphics 2 and 3.
///
/// # Errors
/// [`HangCause::Unsupported`] for indices that end with a marker instead of having a number.
fn primitive(first: u32) -> Result<usize, HangCause> {
    let indices = (first & COUNT) as usize;
    match (first & INDIRECT != 0, first & ELEMENTS != 0) {
        (false, _) => Ok(Plus2(INLINE_BITS).dwords(first)),
        (true, false) => Ok(2),
        (true, true) if indices == 0 => Err(HangCause::Unsupported),
        (true, true) => Ok(1 + indices.div_ceil(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::commands::Privilege;
    use EngineClass::{Compute, VideoEnhance};
    use gem_coherency::platform::by_name;
    use gem_coherency::vocabulary::KernelVersion;

    /// Checks the lengths of a command on these platforms; 0 means that there is no such command.
    #[track_caller]
    fn case(engine: EngineClass, first: u32, expected: &[(&str, usize)]) {
        for &(platform, expected) in expected {
            let machine = by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false);
            let on = Streamer { machine, engine, privilege: Privilege::User };
            assert_eq!(dwords(&on, first).unwrap_or(0), expected, "{platform} {engine:?} {first:x}");
        }
    }

    #[test]
    fn length_fields_have_the_width_of_their_generation_and_engine() {
        use EngineClass::{Render, Video};
        // MI_STORE_DATA_IMM, MI_MATH and MI_CLFLUSH.
        case(Render, 0x1000_03c2, &[("gm45", 4), ("hsw", 4), ("bdw", 0x3c4), ("mtl", 0x3c4)]);
        case(Video, 0x1000_03c2, &[("ivb", 4), ("glk", 0x3c4)]);
        case(Render, 0x0d00_00c3, &[("ivb", 0), ("hsw", 5), ("bdw", 5), ("skl", 0xc5), ("tgl", 0xc5)]);
        case(Render, 0x1380_0102, &[("ilk", 0), ("snb", 4), ("ivb", 0x104), ("icl", 0x104)]);
        // MI_LOAD_REGISTER_IMM of 126 registers, MI_FLUSH_DW.
        case(Video, 0x1100_10fb, &[("snb", 0xfd), ("jsl", 0xfd)]);
        case(VideoEnhance, 0x1300_40c3, &[("hsw", 5), ("mtl", 5)]);
        // 3DSTATE_SO_DECL_LIST, 3DSTATE_BINDING_TABLE_EDIT_VS, 3DSTATE_DX9_CONSTANTF_VS.
        case(Render, 0x7917_0101, &[("snb", 3), ("ivb", 0x103), ("dg2", 0x103)]);
        case(Render, 0x7843_0101, &[("ivb", 3), ("hsw", 0x103), ("glk", 0x103), ("icl", 3)]);
        case(Render, 0x7839_0401, &[("ivb", 3), ("hsw", 0x403), ("bdw", 3)]);
        // MEDIA_OBJECT, GPGPU_WALKER, COMPUTE_WALKER.
        case(Render, 0x7100_1001, &[("gm45", 0x1003), ("hsw", 0x1003), ("tgl", 0x1003)]);
        case(Render, 0x7105_0509, &[("ivb", 11), ("tgl", 11)]);
        case(Compute, 0x7202_0525, &[("dg2", 39), ("mtl", 39)]);
        // MFX_JPEG_HUFF_TABLE_STATE and VEBOX_STATE have twelve bits; 3D commands eight.
        case(Video, 0x7702_f33d, &[("ivb", 0x33f), ("mtl", 0x33f)]);
        case(VideoEnhance, 0x7402_110e, &[("hsw", 0x110), ("tgl", 0x110)]);
        case(Render, 0x7b00_f505, &[("ilk", 7), ("mtl", 7)]);
    }

    #[test]
    fn xe2_has_barriers_and_the_address_of_fences_on_copy_engines() {
        let lnl = gem_coherency::xe::device("lnl", KernelVersion::new(7, 2)).unwrap().machine();
        let on = |engine| Streamer { machine: lnl, engine, privilege: Privilege::User };
        assert_eq!(dwords(&on(EngineClass::Render), 0xac00_0003), Ok(5));
        case(EngineClass::Render, 0xac00_0003, &[("mtl", 0)]);
        assert_eq!(on(EngineClass::Copy).dwords(0x6109_0001), Ok(3));
        assert_eq!(on(EngineClass::Copy).dwords(0x6101_0014), Err(HangCause::Unsupported));
    }

    #[test]
    fn some_commands_have_one_dword() {
        use EngineClass::{Render, Video};
        case(Render, 0x6904_0312, &[("gm45", 1), ("mtl", 1)]);
        case(Render, 0x6104_0001, &[("i965gm", 1), ("gm45", 3), ("skl", 3)]);
        case(Render, 0x780b_0001, &[("i965gm", 1), ("skl", 3)]);
        case(Render, 0x680b_0001, &[("gm45", 1), ("tgl", 1)]);
        case(Video, 0x6800_0101, &[("snb", 1), ("mtl", 1)]);
        case(Render, 0x0200_00ff, &[("i830", 1), ("mtl", 1)]);
    }

    #[test]
    fn graphics_2_and_3_have_their_own_commands() {
        use EngineClass::Render;
        case(Render, 0x7d04_0071, &[("i915gm", 3), ("i965gm", 0x73)]);
        case(Render, 0x7d05_0105, &[("i945gm", 0x107)]);
        case(Render, 0x7d07_0000, &[("i85x", 1), ("g33", 1)]);
        case(Render, 0x7c80_0002, &[("i915g", 1)]);
        case(Render, 0x7d80_0003, &[("i830", 5), ("pnv", 5)]);
        // 3DPRIMITIVE: vertices in it, in a buffer, and 3 or an unknown number of indices.
        case(Render, 0x7f1d_0011, &[("i915g", 0x1_0013)]);
        case(Render, 0x7f9c_0003, &[("i915g", 2)]);
        case(Render, 0x7f9e_0003, &[("i915g", 3)]);
        case(Render, 0x7f9e_0000, &[("i915g", 0)]);
        // The render engine executes blits until there is a copy engine.
        case(Render, 0x5430_0004, &[("i830", 6), ("ilk", 6), ("snb", 0), ("tgl", 0)]);
    }

    #[test]
    fn opcodes_that_no_generation_lists_have_no_length() {
        use EngineClass::{Render, Video};
        case(Render, 0x0780_0000, &[("ivb", 0), ("hsw", 1)]);
        case(Video, 0x0780_0000, &[("hsw", 0), ("tgl", 0)]);
        case(Render, 0x0480_0000, &[("ivb", 0), ("hsw", 1), ("icl", 0)]);
        case(Render, 0x0800_0000, &[("i830", 0), ("mtl", 0)]);
        case(Render, 0x1e00_0000, &[("snb", 0), ("mtl", 0)]);
        case(Render, 0x1700_0003, &[("hsw", 0), ("bdw", 5)]);
        for client in [1, 4, 5, 6, 7] {
            case(Render, client << 29, &[("i830", 0), ("hsw", 0), ("mtl", 0)]);
        }
        case(Video, 0x5430_0004, &[("ilk", 0), ("hsw", 0), ("mtl", 0)]);
    }
}
