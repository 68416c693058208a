//! What a line of the kernel's trace says.

use super::call::CallEvent;
use gem_coherency::vocabulary::Access;

/// One event of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The thread (0: the idle thread, or none where events were lost).
    pub tid: u32,
    /// The thread's name, at most 15 bytes.
    pub comm: String,
    /// CLOCK_MONOTONIC in nanoseconds, of microsecond resolution.
    pub time_ns: u64,
    /// What happened.
    pub what: What,
}

/// What happened.
///
/// Objects, files and page lists are the kernel's addresses; they are reused after an object's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A mark of [`super::Tracer::mark`], or of anyone else who writes to this trace.
    Mark(String),
    /// An object got its size (`drm_gem_private_object_init`); of any DRM driver.
    Created {
        /// The device.
        device: u64,
        /// The object.
        object: u64,
        /// Its size in bytes.
        size_bytes: u64,
    },
    /// An object of i915 was made (`i915_gem_object_init`); only a tracer of [`super::Scope::Calls`] sees it.
    Made {
        /// The object.
        object: u64,
        /// What makes its pages: the name of its operations, `i915_gem_shmem_ops` say.
        operations: String,
    },
    /// An object got a handle (`drm_gem_handle_create_tail`): from now on it is userspace's.
    Named {
        /// The object.
        object: u64,
        /// The open file that the handle is of.
        file: u64,
    },
    /// An object got pages (`__i915_gem_object_set_pages`); a flush of the acquire comes after it.
    Pages {
        /// The object.
        object: u64,
        /// The page list, which `drm_clflush_sg` takes.
        pages: u64,
    },
    /// All lines of a page list were flushed (`drm_clflush_sg`).
    FlushPages {
        /// The page list.
        pages: u64,
        /// The function that called.
        caller: String,
    },
    /// The lines of an address range were flushed (`drm_clflush_virt_range`).
    FlushRange {
        /// How many bytes.
        bytes: u64,
        /// The function that called: the driver flushes its page tables in this way, too.
        caller: String,
    },
    /// Every line of the system was flushed (`wbinvd_on_all_cpus`).
    Wbinvd {
        /// The function that called.
        caller: String,
    },
    /// i915 decided to flush an object (tracepoint `i915_gem_object_clflush`); the flush itself may
    /// be a worker's, later.
    Clflush {
        /// The object.
        object: u64,
    },
    /// An object's cache level was set (`i915_gem_object_set_cache_level`), not necessarily changed.
    Level {
        /// The object.
        object: u64,
        /// The level, as `enum i915_cache_level` counts.
        level: u32,
    },
    /// PREAD or PWRITE is about to copy (tracepoints `i915_gem_object_pread`, `i915_gem_object_pwrite`).
    Transfer {
        /// The object.
        object: u64,
        /// The first byte.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// Read: out of the object.
        access: Access,
    },
    /// An object is gone (tracepoint `i915_gem_object_destroy`).
    Destroyed {
        /// The object.
        object: u64,
    },
    /// Something of a call; only a tracer of [`super::Scope::Calls`] sees it.
    Call(CallEvent),
    /// The trace ran over: as many events are missing here.
    Lost(u64),
}
