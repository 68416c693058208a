//! The kernel functions to probe.

/// The amount of tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Flushes, and the events that attribute them to objects.
    Flushes,
    /// Also the calls that lead to them.
    Calls,
}

/// The place of a probe in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// The first byte.
    Entry,
    /// The return.
    Return,
}

/// A kprobe and its arguments.
#[derive(Debug)]
pub(super) struct Probe {
    /// The event's name, without [`PREFIX`].
    pub name: &'static str,
    /// The place in the function.
    pub at: At,
    /// The function.
    pub function: &'static str,
    /// The arguments to record, in the syntax of `kprobe_events`.
    pub fetch: &'static str,
    /// The smallest scope that requires it.
    pub scope: Scope,
}

/// The prefix of every event's name: the trace shows an event's name without its group.
pub(super) const PREFIX: &str = "gemco_";

/// Every kprobe. `$stack0` at a function's first byte is its return address, which identifies the caller.
///
/// lib/ is built without tracing, so `idr_alloc` and `idr_replace`, which know a handle's number, cannot be
/// probed.
pub(super) const PROBES: &[Probe] = &[
    flushes("created", "drm_gem_private_object_init", "dev=$arg1:x64 obj=$arg2:x64 size=$arg3:u64"),
    begins("made", "i915_gem_object_init", "obj=$arg1:x64 ops=$arg2:symbol"),
    flushes("named", "drm_gem_handle_create_tail", "file=$arg1:x64 obj=$arg2:x64"),
    flushes("pages", "__i915_gem_object_set_pages", "obj=$arg1:x64 pages=$arg2:x64"),
    flushes("sg", "drm_clflush_sg", "pages=$arg1:x64 caller=$stack0:symbol"),
    flushes("range", "drm_clflush_virt_range", "len=$arg2:u64 caller=$stack0:symbol"),
    flushes("wbinvd", "wbinvd_on_all_cpus", "caller=$stack0:symbol"),
    flushes("level", "i915_gem_object_set_cache_level", "obj=$arg1:x64 level=$arg2:u32"),
    flushes("prepared", "i915_gem_object_prepare_read", "obj=$arg1:x64"),
    flushes("prepared_write", "i915_gem_object_prepare_write", "obj=$arg1:x64"),
    // Calls. `$arg2` of an ioctl is the kernel's copy of its argument.
    begins("create", "i915_gem_create_ioctl", ""),
    ends("end_create", "i915_gem_create_ioctl"),
    begins("create_ext", "i915_gem_create_ext_ioctl", ""),
    ends("end_create_ext", "i915_gem_create_ext_ioctl"),
    begins("userptr", "i915_gem_userptr_ioctl", ""),
    ends("end_userptr", "i915_gem_userptr_ioctl"),
    begins("create_dumb", "i915_gem_dumb_create", ""),
    ends("end_create_dumb", "i915_gem_dumb_create"),
    begins("set_caching", "i915_gem_set_caching_ioctl", "handle=+0($arg2):u32 mode=+4($arg2):u32"),
    ends("end_set_caching", "i915_gem_set_caching_ioctl"),
    begins(
        "set_domain",
        "i915_gem_set_domain_ioctl",
        "handle=+0($arg2):u32 read=+4($arg2):u32 write=+8($arg2):u32",
    ),
    ends("end_set_domain", "i915_gem_set_domain_ioctl"),
    begins("pread", "i915_gem_pread_ioctl", "handle=+0($arg2):u32 offset=+8($arg2):u64 bytes=+16($arg2):u64"),
    ends("end_pread", "i915_gem_pread_ioctl"),
    begins(
        "pwrite",
        "i915_gem_pwrite_ioctl",
        "handle=+0($arg2):u32 offset=+8($arg2):u64 bytes=+16($arg2):u64",
    ),
    ends("end_pwrite", "i915_gem_pwrite_ioctl"),
    begins("execbuffer", "i915_gem_execbuffer2_ioctl", "objects=+8($arg2):u32"),
    ends("end_execbuffer", "i915_gem_execbuffer2_ioctl"),
    begins("sw_finish", "i915_gem_sw_finish_ioctl", "handle=+0($arg2):u32"),
    ends("end_sw_finish", "i915_gem_sw_finish_ioctl"),
    begins("madvise", "i915_gem_madvise_ioctl", "handle=+0($arg2):u32 advice=+4($arg2):u32"),
    ends("end_madvise", "i915_gem_madvise_ioctl"),
    begins("dma_buf_begin", "i915_gem_begin_cpu_access", "direction=$arg2:u32"),
    ends("end_dma_buf_begin", "i915_gem_begin_cpu_access"),
    begins("dma_buf_end", "i915_gem_end_cpu_access", ""),
    ends("end_dma_buf_end", "i915_gem_end_cpu_access"),
    begins("fault", "vm_fault_cpu", ""),
    ends("end_fault", "vm_fault_cpu"),
    begins("fault_gtt", "vm_fault_gtt", ""),
    ends("end_fault_gtt", "vm_fault_gtt"),
    // Events inside calls.
    begins("waited", "i915_gem_object_wait", "obj=$arg1:x64"),
    begins("unpaged", "__i915_gem_object_unset_pages", "obj=$arg1:x64"),
    begins("binding", "i915_vma_instance", "obj=$arg1:x64"),
    Probe { fetch: "vma=$retval:x64", ..ends("bound", "i915_vma_instance") },
    begins("used", "_i915_vma_move_to_active", "vma=$arg1:x64 flags=$arg4:u32"),
    begins("if_display", "i915_gem_object_flush_if_display", "obj=$arg1:x64"),
    begins("shown", "i915_gem_object_pin_to_display_plane", "obj=$arg1:x64"),
    begins("framebuffer", "intel_framebuffer_init", "fb=$arg1:x64 obj=$arg2:x64"),
    ends("end_framebuffer", "intel_framebuffer_init"),
    begins("framebuffer_gone", "intel_user_framebuffer_destroy", "fb=$arg1:x64"),
    begins("pat", "i915_gem_object_set_pat_index", "obj=$arg1:x64 index=$arg2:u32"),
    begins("closed", "drm_gem_object_release_handle", "handle=$arg1:u32 obj=$arg2:x64"),
    begins("suspended", "i915_gem_suspend", ""),
    begins("frozen", "i915_gem_freeze", ""),
];

/// The names of the probes that are for every driver.
pub(super) const SHARED: &[&str] = &["created", "sg", "range", "wbinvd"];

/// The tracepoints, by system and name.
pub(super) const TRACEPOINTS: &[(&str, &str)] = &[
    ("i915", "i915_gem_object_clflush"),
    ("i915", "i915_gem_object_pread"),
    ("i915", "i915_gem_object_pwrite"),
    ("i915", "i915_gem_object_destroy"),
];

/// Returns a probe that flushes require.
const fn flushes(name: &'static str, function: &'static str, fetch: &'static str) -> Probe {
    Probe { name, at: At::Entry, function, fetch, scope: Scope::Flushes }
}

/// Returns a probe at the beginning of a call, or inside one.
const fn begins(name: &'static str, function: &'static str, fetch: &'static str) -> Probe {
    Probe { name, at: At::Entry, function, fetch, scope: Scope::Calls }
}

/// Returns a probe at a call's return.
const fn ends(name: &'static str, function: &'static str) -> Probe {
    Probe { name, at: At::Return, function, fetch: "ret=$retval:s32", scope: Scope::Calls }
}
