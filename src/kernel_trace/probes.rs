//! Where the kernel is probed.

/// How much is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Flushes, and what ties them to objects.
    Flushes,
}

/// A kprobe: where, and what is fetched there.
#[derive(Debug)]
pub(super) struct Probe {
    /// The event's name, without [`PREFIX`].
    pub name: &'static str,
    /// The function.
    pub function: &'static str,
    /// The arguments that are fetched, as `kprobe_events` takes them.
    pub fetch: &'static str,
    /// The least scope that needs it.
    pub scope: Scope,
}

/// What every event's name starts with: the trace shows an event's name without its group.
pub(super) const PREFIX: &str = "gemco_";

/// Every kprobe. `$stack0` at a function's first byte is where it returns to, which tells the caller.
///
/// lib/ is built without tracing, so `idr_alloc` and `idr_replace`, which know the number of a handle,
/// cannot be probed.
pub(super) const PROBES: &[Probe] = &[
    flushes("created", "drm_gem_private_object_init", "obj=$arg2:x64 size=$arg3:u64"),
    flushes("made", "i915_gem_object_init", "obj=$arg1:x64 ops=$arg2:symbol"),
    flushes("named", "drm_gem_handle_create_tail", "file=$arg1:x64 obj=$arg2:x64"),
    flushes("pages", "__i915_gem_object_set_pages", "obj=$arg1:x64 pages=$arg2:x64"),
    flushes("sg", "drm_clflush_sg", "pages=$arg1:x64 caller=$stack0:symbol"),
    flushes("range", "drm_clflush_virt_range", "len=$arg2:u64 caller=$stack0:symbol"),
    flushes("wbinvd", "wbinvd_on_all_cpus", "caller=$stack0:symbol"),
    flushes("level", "i915_gem_object_set_cache_level", "obj=$arg1:x64 level=$arg2:u32"),
];

/// The tracepoints, by system and name.
pub(super) const TRACEPOINTS: &[(&str, &str)] = &[
    ("i915", "i915_gem_object_clflush"),
    ("i915", "i915_gem_object_pread"),
    ("i915", "i915_gem_object_pwrite"),
    ("i915", "i915_gem_object_destroy"),
];

/// A probe that flushes need.
const fn flushes(name: &'static str, function: &'static str, fetch: &'static str) -> Probe {
    Probe { name, function, fetch, scope: Scope::Flushes }
}
