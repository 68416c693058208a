//! The types of xe's rules in C.

use core::ffi::{c_char, c_int, c_uint};

use gem_coherency_policy::vocabulary::Agent;
use gem_coherency_policy::xe::{CpuCaching, Decision, LOCAL, SYSTEM, Use, Verdict, When};

use super::rule;
use super::types::{gemco_decision, gemco_verdict};
use crate::by_place;

/// Memory as xe distinguishes it: by the caching of the CPU's mapping, which GEM_CREATE fixes, or by its origin.
#[repr(C)]
pub enum gemco_xe_memory {
    /// An object that the CPU maps write-back (DRM_XE_GEM_CPU_CACHING_WB).
    GEMCO_XE_MEMORY_WB = 1,
    /// An object that the CPU maps write-combining (DRM_XE_GEM_CPU_CACHING_WC).
    GEMCO_XE_MEMORY_WC = 2,
    /// A dma-buf of another driver. One of the same device is the exporter's object itself: GEMCO_XE_MEMORY_WB or _WC.
    GEMCO_XE_MEMORY_IMPORT = 3,
    /// The process's own pages (DRM_XE_VM_BIND_OP_MAP_USERPTR).
    GEMCO_XE_MEMORY_USERPTR = 4,
}

const _: () = assert!(CpuCaching::Wb.number() as isize == gemco_xe_memory::GEMCO_XE_MEMORY_WB as isize);
const _: () = assert!(CpuCaching::Wc.number() as isize == gemco_xe_memory::GEMCO_XE_MEMORY_WC as isize);

/// Memory regions of a placement, as bits.
#[repr(C)]
pub enum gemco_xe_region {
    /// System memory.
    GEMCO_XE_SYSTEM = 0x1,
    /// Local memory of a discrete device.
    GEMCO_XE_LOCAL = 0x2,
}

const _: () = assert!(SYSTEM == gemco_xe_region::GEMCO_XE_SYSTEM as u32);
const _: () = assert!(LOCAL == gemco_xe_region::GEMCO_XE_LOCAL as u32);

/// The use of memory.
#[repr(C)]
pub enum gemco_xe_use {
    /// The CPU writes, the GPU reads.
    GEMCO_XE_USE_UPLOAD = 0,
    /// The GPU writes, the CPU reads; or both do both.
    GEMCO_XE_USE_READ_BACK = 1,
    /// The display shows it.
    GEMCO_XE_USE_SCANOUT = 2,
    /// The GPU alone, compressed where it can be.
    GEMCO_XE_USE_GPU_ONLY = 3,
    /// An import from another driver.
    GEMCO_XE_USE_IMPORT = 4,
    /// The process's own pages.
    GEMCO_XE_USE_USERPTR = 5,
}

/// An agent that accesses memory.
#[repr(C)]
pub enum gemco_xe_agent {
    /// The CPU, through the mapping that belongs to the memory.
    GEMCO_XE_AGENT_CPU = 0,
    /// The GPU's engines, through the mapping with the PAT index.
    GEMCO_XE_AGENT_GPU = 1,
    /// The display engine; it only reads.
    GEMCO_XE_AGENT_DISPLAY = 2,
}

/// The time of the next access.
#[repr(C)]
pub enum gemco_xe_when {
    /// After the fence of the submission, or after a request.
    GEMCO_XE_AFTER_FENCE = 0,
    /// While the batch runs: after a user fence in its midst, by another queue, or in user-mode submission.
    GEMCO_XE_IN_BATCH = 1,
}

/// A request of xe.
#[repr(C)]
pub enum gemco_xe_request {
    /// None: the kernel accepts them all.
    GEMCO_XE_NO_REQUEST = 0,
    /// DRM_IOCTL_XE_GEM_CREATE.
    GEMCO_XE_GEM_CREATE = 1,
    /// DRM_IOCTL_XE_VM_BIND.
    GEMCO_XE_VM_BIND = 2,
}

/// A device of xe under a kernel: gemco_xe_device_by_id fills it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_xe_device {
    /// The platform's short name, in lower case: "lnl".
    pub name: [c_char; 16],
    /// The platform's marketing name: "Lunar Lake".
    pub title: [c_char; 48],
    /// The PCI ID.
    pub pci_id: u16,
    /// The kernel version: the 7 of 7.2.
    pub kernel_major: u16,
    /// The kernel version: the 2 of 7.2.
    pub kernel_minor: u16,
    /// Version of the graphics IP: the 20 of 20.04.
    pub graphics_major: u8,
    /// Version of the graphics IP: the 4 of 20.04.
    pub graphics_minor: u8,
    /// Memory regions of the device: gemco_xe_region, ORed.
    pub regions: c_uint,
    /// Number of PAT indices, reserved ones included.
    pub pat_indices: c_uint,
    /// 0.
    pub reserved: [u64; 2],
}

/// Memory, and a mapping of it in an address space of the GPU. Set all other fields to 0: use designated initialisers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_xe_mapping {
    /// The memory: a gemco_xe_memory.
    pub memory: c_uint,
    /// The placement of GEM_CREATE: gemco_xe_region, ORed. 0 for an import and for the process's pages.
    pub placement: c_uint,
    /// The flags of GEM_CREATE (DRM_XE_GEM_CREATE_FLAG_*). 0 for an import and for the process's pages.
    pub create_flags: c_uint,
    /// The flags of VM_BIND (DRM_XE_VM_BIND_FLAG_*).
    pub bind_flags: c_uint,
    /// The PAT index of VM_BIND, at most 65535.
    pub pat_index: c_uint,
    /// 0.
    pub pad: c_uint,
    /// Size of the object in bytes; ignored for the process's pages.
    pub size: u64,
    /// Bytes from the object's start, or the address of the process's pages.
    pub offset: u64,
    /// The GPU's address.
    pub address: u64,
    /// Size of the mapping in bytes.
    pub range: u64,
    /// 0.
    pub reserved: [u64; 2],
}

/// The kernel's answer to the requests for a mapping.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_xe_refusal {
    /// The request that is refused: a gemco_xe_request.
    pub request: c_uint,
    /// The errno of the refusal, positive; 0 if the kernel accepts the requests.
    pub error: c_int,
    /// The check that fails: gemco_rule_name, gemco_rule_reason, gemco_rule_source. 0 if the kernel accepts the requests.
    pub rule: c_uint,
}

by_place! {
    Use: purpose, gemco_xe_use {
        Upload = GEMCO_XE_USE_UPLOAD, ReadBack = GEMCO_XE_USE_READ_BACK, Scanout = GEMCO_XE_USE_SCANOUT,
        GpuOnly = GEMCO_XE_USE_GPU_ONLY, Import = GEMCO_XE_USE_IMPORT, Userptr = GEMCO_XE_USE_USERPTR,
    }
    Agent: agent, gemco_xe_agent {
        Cpu = GEMCO_XE_AGENT_CPU, Gpu = GEMCO_XE_AGENT_GPU, Display = GEMCO_XE_AGENT_DISPLAY,
    }
    When: when, gemco_xe_when { AfterFence = GEMCO_XE_AFTER_FENCE, InBatch = GEMCO_XE_IN_BATCH }
}

impl From<Decision> for gemco_decision {
    fn from(decision: Decision) -> Self {
        let verdict = match decision.verdict {
            Verdict::NotNeeded => gemco_verdict::GEMCO_NOT_NEEDED,
            Verdict::Drain => gemco_verdict::GEMCO_DRAIN,
            Verdict::Flush => gemco_verdict::GEMCO_FLUSH,
            Verdict::FlushGpu => gemco_verdict::GEMCO_FLUSH_GPU,
            Verdict::Refused => gemco_verdict::GEMCO_REFUSED,
        };
        Self { verdict: verdict as c_uint, rule: rule::of_xe(decision.rule) }
    }
}
