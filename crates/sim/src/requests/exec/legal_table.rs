//! The tables of the kernel's command parser (`i915_cmd_parser.c`): the length of each command, and whether a
//! batch may contain it.

use gem_coherency::platform::{EngineClass, Machine};

/// The client bits: MI is 0, the blitter 2, the pipelines 3.
const CLIENT_SHIFT: u32 = 29;
const MI: u32 = 0;
const BLITTER: u32 = 2;
const PIPELINES: u32 = 3;
/// MI opcodes, bits 28:23.
const NOOP: u32 = 0x00;
const SET_PREDICATE: u32 = 0x01;
const USER_INTERRUPT: u32 = 0x02;
const WAIT_FOR_EVENT: u32 = 0x03;
const FLUSH: u32 = 0x04;
const ARB_CHECK: u32 = 0x05;
const RS_CONTROL: u32 = 0x06;
const REPORT_HEAD: u32 = 0x07;
const ARB_ON_OFF: u32 = 0x08;
const URB_ATOMIC_ALLOC: u32 = 0x09;
const SUSPEND_FLUSH: u32 = 0x0b;
const PREDICATE: u32 = 0x0c;
const TOPOLOGY_FILTER: u32 = 0x0d;
const SET_APPID: u32 = 0x0e;
const RS_CONTEXT: u32 = 0x0f;
const LOAD_SCAN_LINES: u32 = 0x12;
const LOAD_SCAN_LINES_EXCLUDING: u32 = 0x13;
const DISPLAY_FLIP: u32 = 0x14;
const SEMAPHORE_MBOX: u32 = 0x16;
const SET_CONTEXT: u32 = 0x18;
const URB_CLEAR: u32 = 0x19;
const STORE_DWORD_IMM: u32 = 0x20;
const STORE_DWORD_INDEX: u32 = 0x21;
const LOAD_REGISTER_IMM: u32 = 0x22;
const UPDATE_GTT: u32 = 0x23;
const STORE_REGISTER_MEM: u32 = 0x24;
const FLUSH_DW: u32 = 0x26;
const CLFLUSH: u32 = 0x27;
const REPORT_PERF_COUNT: u32 = 0x28;
const LOAD_REGISTER_MEM: u32 = 0x29;
const LOAD_REGISTER_REG: u32 = 0x2a;
const RS_STORE_DATA_IMM: u32 = 0x2b;
const LOAD_URB_MEM: u32 = 0x2c;
const STORE_URB_MEM: u32 = 0x2d;
pub(super) const BATCH_BUFFER_START: u32 = 0x31;
const CONDITIONAL_END: u32 = 0x36;
/// Commands of the pipelines, the upper half of the first dword.
const VF_STATISTICS: u32 = 0x680b;
const PIPELINE_SELECT: u32 = 0x6904;
const MEDIA_VFE_STATE: u32 = 0x7000;
const GPGPU_OBJECT: u32 = 0x7104;
const GPGPU_WALKER: u32 = 0x7105;
const SO_DECL_LIST: u32 = 0x7917;
const PIPE_CONTROL: u32 = 0x7a00;
const DX9_CONSTANTF: std::ops::RangeInclusive<u32> = 0x7839..=0x783a;
const BINDING_TABLE_EDIT: std::ops::RangeInclusive<u32> = 0x7843..=0x7847;
const MFX_WAIT: u32 = 0x6800;
/// The media pipeline (bits 28:27), and its opcode (bits 26:24) with the longest commands.
const MEDIA: u32 = 2;
const LONG_MEDIA: u32 = 6;

/// The address is in the global GTT: MI commands.
const GLOBAL: u32 = 1 << 22;
/// MI_FLUSH_DW, PIPE_CONTROL: interrupt; status page index; post-sync operation.
const NOTIFY: u32 = 1 << 8;
const INDEX: u32 = 1 << 21;
const OPERATION: u32 = 3 << 14;
/// MI_FLUSH_DW, dword 1: the address is in the global GTT.
const FLUSH_GLOBAL: u32 = 1 << 2;
/// PIPE_CONTROL: a register is written; the address is in the global GTT.
const WRITES_REGISTER: u32 = 1 << 23;
const PIPE_CONTROL_GLOBAL: u32 = 1 << 24;
/// MEDIA_VFE_STATE, dword 2: access to registers.
const VFE_REGISTERS: u32 = 0x18;
/// MI_REPORT_PERF_COUNT, dword 1: the address is in the global GTT.
const REPORT_GLOBAL: u32 = 1 << 0;

/// The length of a command, and whether it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Fixed,
    /// The length is in the bits of this mask.
    Long(u32),
    Rejected,
    /// Unknown, even its length.
    Unknown,
}

/// Returns the table entry of the command that starts with `first`, or what an engine assumes of a command
/// that its tables do not list (`get_cmd_length_mask`).
pub(super) fn rule(machine: &Machine, engine: EngineClass, first: u32) -> Rule {
    if machine.platform.graphics.major >= 9 {
        return skylake(first);
    }
    let haswell = machine.platform.name == "hsw";
    let listed = common(first).or_else(|| match engine {
        EngineClass::Render | EngineClass::Compute => {
            render(first).or_else(|| if haswell { haswell_render(first) } else { None })
        }
        EngineClass::Copy => copy(first, haswell),
        EngineClass::Video | EngineClass::VideoEnhance => video(engine, first),
    });
    listed.unwrap_or_else(|| unlisted(engine, first))
}

/// Returns whether generation 7's parser forbids a command because of its fields (`check_cmd`).
pub(super) fn is_forbidden(engine: EngineClass, first: u32, operands: &[u32]) -> bool {
    // A command that is too short for the check is forbidden.
    let has = |dword: usize, bits: u32| match dword {
        0 => first & bits != 0,
        _ => operands.get(dword - 1).is_none_or(|operand| operand & bits != 0),
    };
    let renders = match engine {
        EngineClass::Render | EngineClass::Compute => true,
        EngineClass::Copy | EngineClass::Video | EngineClass::VideoEnhance => false,
    };
    match (first >> 23, first >> 16) {
        (STORE_DWORD_IMM | STORE_REGISTER_MEM | LOAD_REGISTER_MEM, _) => has(0, GLOBAL),
        (CONDITIONAL_END, _) if engine != EngineClass::Copy => has(0, GLOBAL),
        (FLUSH_DW, _) if !renders => {
            has(0, NOTIFY) || has(0, OPERATION) && (has(1, FLUSH_GLOBAL) || has(0, INDEX))
        }
        (CLFLUSH, _) if renders => has(0, GLOBAL),
        (REPORT_PERF_COUNT, _) if renders => has(1, REPORT_GLOBAL),
        (_, MEDIA_VFE_STATE) if renders => has(2, VFE_REGISTERS),
        (_, PIPE_CONTROL) if renders => {
            has(1, WRITES_REGISTER | NOTIFY) || has(1, OPERATION) && has(1, PIPE_CONTROL_GLOBAL | INDEX)
        }
        _ => false,
    }
}

/// `gen9_blt_cmds`, `gen9_blt_get_cmd_length_mask`.
fn skylake(first: u32) -> Rule {
    match (first >> CLIENT_SHIFT, first >> 23) {
        (MI, NOOP | ARB_CHECK | REPORT_HEAD | SUSPEND_FLUSH) => Rule::Fixed,
        (MI, USER_INTERRUPT | WAIT_FOR_EVENT | FLUSH | ARB_ON_OFF) => Rule::Fixed,
        (MI, STORE_DWORD_IMM | UPDATE_GTT) => Rule::Long(0x3ff),
        (MI, FLUSH_DW) => Rule::Long(0x3f),
        (MI | BLITTER, _) => Rule::Long(0xff),
        _ => Rule::Unknown,
    }
}

/// `gen7_common_cmds`. Commands of the DRM master count as rejected.
fn common(first: u32) -> Option<Rule> {
    Some(match first >> 23 {
        NOOP | ARB_CHECK | REPORT_HEAD | SUSPEND_FLUSH => Rule::Fixed,
        USER_INTERRUPT | WAIT_FOR_EVENT | SEMAPHORE_MBOX | STORE_DWORD_INDEX => Rule::Rejected,
        LOAD_REGISTER_IMM | BATCH_BUFFER_START => Rule::Long(0xff),
        // Always three dwords.
        STORE_REGISTER_MEM | LOAD_REGISTER_MEM => Rule::Long(0x3f),
        _ => return None,
    })
}

/// `gen7_render_cmds`.
fn render(first: u32) -> Option<Rule> {
    Some(match (first >> 23, first >> 16) {
        (FLUSH | PREDICATE | TOPOLOGY_FILTER | SET_APPID, _) => Rule::Fixed,
        (ARB_ON_OFF | DISPLAY_FLIP | SET_CONTEXT | UPDATE_GTT, _) => Rule::Rejected,
        (URB_CLEAR | CONDITIONAL_END, _) => Rule::Long(0xff),
        (STORE_DWORD_IMM | REPORT_PERF_COUNT, _) => Rule::Long(0x3f),
        (CLFLUSH, _) => Rule::Long(0x3ff),
        (_, VF_STATISTICS | PIPELINE_SELECT) => Rule::Fixed,
        (_, MEDIA_VFE_STATE) => Rule::Long(0xffff),
        (_, GPGPU_OBJECT | GPGPU_WALKER | PIPE_CONTROL) => Rule::Long(0xff),
        (_, SO_DECL_LIST) => Rule::Long(0x1ff),
        _ => return None,
    })
}

/// `hsw_render_cmds`.
fn haswell_render(first: u32) -> Option<Rule> {
    Some(match (first >> 23, first >> 16) {
        (SET_PREDICATE | RS_CONTROL | URB_ATOMIC_ALLOC | RS_CONTEXT, _) => Rule::Fixed,
        (LOAD_SCAN_LINES | LOAD_SCAN_LINES_EXCLUDING, _) => Rule::Rejected,
        (LOAD_REGISTER_REG | RS_STORE_DATA_IMM | LOAD_URB_MEM | STORE_URB_MEM, _) => Rule::Long(0xff),
        (_, command) if DX9_CONSTANTF.contains(&command) => Rule::Long(0x7ff),
        (_, command) if BINDING_TABLE_EDIT.contains(&command) => Rule::Long(0x1ff),
        _ => return None,
    })
}

/// `gen7_blt_cmds`, `hsw_blt_cmds`.
fn copy(first: u32, haswell: bool) -> Option<Rule> {
    Some(match first >> 23 {
        DISPLAY_FLIP | UPDATE_GTT => Rule::Rejected,
        LOAD_SCAN_LINES | LOAD_SCAN_LINES_EXCLUDING if haswell => Rule::Rejected,
        STORE_DWORD_IMM => Rule::Long(0x3ff),
        FLUSH_DW => Rule::Long(0x3f),
        _ => return None,
    })
}

/// `gen7_video_cmds`, `hsw_vebox_cmds`.
fn video(engine: EngineClass, first: u32) -> Option<Rule> {
    Some(match (first >> 23, first >> 16) {
        (ARB_ON_OFF | UPDATE_GTT, _) => Rule::Rejected,
        (SET_APPID, _) => Rule::Fixed,
        (STORE_DWORD_IMM | CONDITIONAL_END, _) => Rule::Long(0xff),
        (FLUSH_DW, _) => Rule::Long(0x3f),
        (_, MFX_WAIT) if engine == EngineClass::Video => Rule::Fixed,
        _ => return None,
    })
}

/// `gen7_render_get_cmd_length_mask`, `gen7_bsd_get_cmd_length_mask`, `gen7_blt_get_cmd_length_mask`.
fn unlisted(engine: EngineClass, first: u32) -> Rule {
    let (is_media, opcode) = (first >> 27 & 3 == MEDIA, first >> 24 & 7);
    match (first >> CLIENT_SHIFT, engine) {
        (MI, _) => Rule::Long(0x3f),
        (BLITTER, EngineClass::Copy) => Rule::Long(0xff),
        (PIPELINES, EngineClass::Render | EngineClass::Compute) if is_media => Rule::Long(0xffff),
        (PIPELINES, EngineClass::Video | EngineClass::VideoEnhance) if is_media && opcode == LONG_MEDIA => {
            Rule::Long(0xffff)
        }
        (PIPELINES, EngineClass::Video | EngineClass::VideoEnhance) if is_media => Rule::Long(0xfff),
        (PIPELINES, EngineClass::Copy) => Rule::Unknown,
        (PIPELINES, _) => Rule::Long(0xff),
        _ => Rule::Unknown,
    }
}
