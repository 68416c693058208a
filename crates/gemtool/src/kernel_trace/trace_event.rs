//! Events of the kernel's trace.

use super::call::CallEvent;
use super::xe::XeEvent;
use gem_coherency::vocabulary::Access;

/// One event of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The thread (0: the idle thread, or none where events were lost).
    pub tid: u32,
    /// The thread's name, at most 15 bytes.
    pub comm: String,
    /// The time, CLOCK_MONOTONIC in nanoseconds, with microsecond resolution.
    pub time_ns: u64,
    /// The event.
    pub what: EventKind,
}

/// The kind of an event.
///
/// Objects, files and page lists are kernel addresses, which are reused after an object's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A mark by [`super::Tracer::mark`], or by another process that writes to this trace.
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
        /// The name of its operations, which determine the source of its pages: for example
        /// `i915_gem_shmem_ops`.
        operations: String,
    },
    /// An object got a handle (`drm_gem_handle_create_tail`): it is userspace's from now on.
    HandleCreated {
        /// The object.
        object: u64,
        /// The open file of the handle.
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
        /// The calling function.
        caller: String,
    },
    /// The lines of an address range were flushed (`drm_clflush_virt_range`).
    FlushRange {
        /// The number of bytes.
        bytes: u64,
        /// The calling function; the driver also flushes its page tables this way.
        caller: String,
    },
    /// Every line of the system was flushed (`wbinvd_on_all_cpus`).
    Wbinvd {
        /// The calling function.
        caller: String,
    },
    /// i915 decided to flush an object (tracepoint `i915_gem_object_clflush`); a worker may perform the flush
    /// later.
    Clflush {
        /// The object.
        object: u64,
    },
    /// An object's cache level was set (`i915_gem_object_set_cache_level`), not necessarily changed.
    Level {
        /// The object.
        object: u64,
        /// The level, by its number in `enum i915_cache_level`.
        level: u32,
    },
    /// PREAD or PWRITE is about to copy (tracepoints `i915_gem_object_pread`, `i915_gem_object_pwrite`).
    Transfer {
        /// The object.
        object: u64,
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        bytes: u64,
        /// Read for PREAD, write for PWRITE.
        access: Access,
    },
    /// An object was destroyed (tracepoint `i915_gem_object_destroy`).
    Destroyed {
        /// The object.
        object: u64,
    },
    /// An event of a call; only a tracer of [`super::Scope::Calls`] sees it.
    Call(CallEvent),
    /// An event of xe; only a tracer of [`super::Tracer::of_xe`] sees it.
    Xe(XeEvent),
    /// The trace buffer overflowed: this many events are missing here.
    Lost(u64),
}
