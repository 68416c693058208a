//! Attributes flushes to objects and to calls.

use std::collections::{HashMap, HashSet};

use super::call::CallEvent;
use super::trace_event::{EventKind, TraceEvent};

/// The memory that was flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// All pages of an object (`drm_clflush_sg`).
    Whole {
        /// The object's size, if its creation was seen.
        bytes: Option<u64>,
    },
    /// Some bytes of an object (`drm_clflush_virt_range`), a page or less at a time.
    Range {
        /// The number of bytes.
        bytes: u64,
        /// The purpose.
        toucher: Toucher,
    },
    /// Every line of the system (`wbinvd_on_all_cpus`).
    Wbinvd,
}

/// The purpose for which the kernel touches some bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Toucher {
    /// PREAD or PWRITE copies them.
    Transfer,
    /// EXECBUFFER2 writes a relocation.
    Relocation,
    /// EXECBUFFER2 reads a batch to check its commands.
    CommandParser,
}

/// A flush of an object that userspace has a handle of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFlush {
    /// The object's kernel address; `None` if the trace does not tell: for a relocation, a resume, and pages
    /// that the object had before the trace began.
    pub object: Option<u64>,
    /// The memory that was flushed.
    pub kind: Kind,
    /// A worker performed the flush after the call continued, behind the object's fences.
    pub asynchronous: bool,
    /// The thread that performed it.
    pub tid: u32,
    /// The time, CLOCK_MONOTONIC in nanoseconds.
    pub time_ns: u64,
}

/// The events from one mark to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedCall {
    /// The mark's text; `None` before the first one.
    pub mark: Option<String>,
    /// The flushes, in order. A worker's flush may belong to the previous call.
    pub flushes: Vec<SeenFlush>,
    /// The objects that got a handle, in order.
    pub named: Vec<u64>,
    /// Number of missing events; if it is not 0, flushes may be missing, too.
    pub lost: u64,
}

/// Attributes flushes to objects and calls.
///
/// It keeps the objects of the trace as long as it exists: use one with one [`super::Tracer`], from its
/// start.
#[derive(Clone, Debug, Default)]
pub struct Attribution {
    /// Page list to object. A list's address is reused: the last acquire counts.
    owners: HashMap<u64, u64>,
    /// Object to its size in bytes.
    sizes: HashMap<u64, u64>,
    /// The objects that userspace has or had a handle of.
    named: HashSet<u64>,
    /// For each thread, the import whose pages are being acquired: index of its flush in the current call.
    importing: HashMap<u32, usize>,
    /// For each thread, the object that PREAD or PWRITE copies.
    copying: HashMap<u32, u64>,
    done: Vec<TracedCall>,
    current: TracedCall,
}

impl Attribution {
    /// Creates an attribution without any objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event. Every event must be passed, in order.
    pub fn feed(&mut self, seen: &TraceEvent) {
        match &seen.what {
            EventKind::Mark(text) => {
                let next = TracedCall { mark: Some(text.clone()), ..TracedCall::default() };
                let done = std::mem::replace(&mut self.current, next);
                self.importing.clear();
                self.copying.clear();
                if done != TracedCall::default() {
                    self.done.push(done);
                }
            }
            // A new object at a reused address is the driver's until it gets a handle.
            EventKind::Created { object, size_bytes, .. } => {
                self.named.remove(object);
                self.sizes.insert(*object, *size_bytes);
            }
            EventKind::HandleCreated { object, .. } => {
                self.named.insert(*object);
                self.current.named.push(*object);
            }
            EventKind::Pages { object, pages } => {
                self.owners.insert(*pages, *object);
                // An import's flush comes just before its pages (`i915_gem_object_get_pages_dmabuf`).
                let flush = self.importing.remove(&seen.tid);
                if let Some(flush) = flush.and_then(|at| self.current.flushes.get_mut(at)) {
                    flush.object = Some(*object);
                }
            }
            EventKind::FlushPages { pages, caller } => self.whole(seen, *pages, caller),
            EventKind::FlushRange { bytes, caller } => {
                if let Some(toucher) = toucher(caller) {
                    let copied = self.copying.get(&seen.tid).copied();
                    let object = copied.filter(|_| toucher == Toucher::Transfer);
                    self.push(seen, object, Kind::Range { bytes: *bytes, toucher }, false);
                }
            }
            EventKind::Wbinvd { caller } => {
                if caller == "i915_gem_object_get_pages_dmabuf" {
                    self.importing.insert(seen.tid, self.current.flushes.len());
                }
                // Callers outside i915 change memory types or manage power.
                if caller.starts_with("i915_") {
                    self.push(seen, None, Kind::Wbinvd, false);
                }
            }
            EventKind::Transfer { object, .. } | EventKind::Call(CallEvent::Prepared { object }) => {
                self.copying.insert(seen.tid, *object);
            }
            // A decision only: the flush that follows it is seen as `FlushPages`.
            EventKind::Clflush { .. }
            | EventKind::Level { .. }
            | EventKind::Made { .. }
            | EventKind::Call(_)
            | EventKind::Xe(_) => {}
            // The pages were released earlier.
            EventKind::Destroyed { object } => {
                self.named.remove(object);
                self.sizes.remove(object);
            }
            EventKind::Lost(count) => self.current.lost = self.current.lost.saturating_add(*count),
        }
    }

    /// Takes the completed calls: all up to the last mark, which begins the current one.
    pub fn calls(&mut self) -> Vec<TracedCall> {
        std::mem::take(&mut self.done)
    }

    /// Takes all calls, including the current one; later events come before the next mark.
    pub fn finish(&mut self) -> Vec<TracedCall> {
        let last = std::mem::take(&mut self.current);
        self.importing.clear();
        self.copying.clear();
        if last != TracedCall::default() {
            self.done.push(last);
        }
        self.calls()
    }

    /// Returns whether userspace has or had a handle of the object.
    pub fn has_handle(&self, object: u64) -> bool {
        self.named.contains(&object)
    }

    fn whole(&mut self, seen: &TraceEvent, pages: u64, caller: &str) {
        let object = self.owners.get(&pages).copied();
        // The driver's own objects (rings, contexts, parsed batches) have no handle. Pages without a known
        // owner may belong to a userspace object that is older than the trace.
        if object.is_some_and(|object| !self.named.contains(&object)) {
            return;
        }
        let bytes = object.and_then(|object| self.sizes.get(&object)).copied();
        // The worker's function is `clflush_work`, inlined into it or not. A kworker also frees objects,
        // which is as synchronous as any release.
        let by_worker = caller == "clflush_work" || caller == "__do_clflush";
        let asynchronous = by_worker && seen.comm.starts_with("kworker");
        self.push(seen, object, Kind::Whole { bytes }, asynchronous);
    }

    fn push(&mut self, seen: &TraceEvent, object: Option<u64>, kind: Kind, asynchronous: bool) {
        let (tid, time_ns) = (seen.tid, seen.time_ns);
        self.current.flushes.push(SeenFlush { object, kind, asynchronous, tid, time_ns });
    }
}

/// Returns the purpose for which `caller` flushes an address range, if the object is userspace's.
///
/// Everything else is the driver's own: page tables (`gen8_ppgtt_*`, `fill_page_dma`, `clear_pd_entry`),
/// status pages and timelines (`process_csb`, `intel_timeline_*`), firmware (`guc_*`), the kernel's
/// mappings of rings and contexts (`__i915_gem_object_flush_map`).
pub(super) fn toucher(caller: &str) -> Option<Toucher> {
    // The compiler decides which of these are inlined into which.
    const TRANSFER: [&str; 6] = [
        "i915_gem_pread_ioctl",
        "i915_gem_pwrite_ioctl",
        "i915_gem_shmem_pread",
        "i915_gem_shmem_pwrite",
        "shmem_pread",
        "shmem_pwrite",
    ];
    const PHYS: [&str; 2] = ["i915_gem_object_pread_phys", "i915_gem_object_pwrite_phys"];
    const RELOCATION: [&str; 5] =
        ["clflush_write32", "relocate_entry", "eb_relocate_entry", "eb_relocate_vma", "eb_relocate_parse"];
    const PARSER: [&str; 2] = ["intel_engine_cmd_parser", "copy_batch"];
    if TRANSFER.contains(&caller) || PHYS.contains(&caller) {
        Some(Toucher::Transfer)
    } else if RELOCATION.contains(&caller) {
        Some(Toucher::Relocation)
    } else if PARSER.contains(&caller) {
        Some(Toucher::CommandParser)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_trace::parse;

    /// The trace of a GLK under 6.12: creations, an acquire, a PWRITE and a deferred flush, with the driver's
    /// own flushes between them.
    const TRACE: &str = "\
         gemtool-161     [000] .....     6.120000: tracing_mark_write: one
         gemtool-161     [000] .....     6.121290: gemco_created: (drm_gem_private_object_init+0x4/0xe0 [drm]) dev=0xff2beed5c3400000 obj=0xff2beed5c1e57a80 size=4096
         gemtool-161     [000] .....     6.121829: gemco_pages: (__i915_gem_object_set_pages+0x4/0x270 [i915]) obj=0xff2beed5c1e57a80 pages=0xff2beed5c377b7e0
         gemtool-161     [000] .....     6.121848: gemco_sg: (drm_clflush_sg+0x4/0xd0 [drm]) pages=0xff2beed5c377b7e0 caller=__i915_gem_object_set_pages+0x255/0x270 [i915]
         gemtool-161     [000] .....     6.121924: gemco_range: (drm_clflush_virt_range+0x4/0x60 [drm]) len=4096 caller=gen8_ppgtt_create+0x678/0x870 [i915]
         gemtool-161     [000] .....     6.156022: gemco_created: (drm_gem_private_object_init+0x4/0xe0 [drm]) dev=0xff2beed5c3400000 obj=0xff2beed5c1e56d00 size=65536
         gemtool-161     [000] .....     6.156747: gemco_named: (drm_gem_handle_create_tail+0x4/0x170 [drm]) file=0xff2beed5c3632000 obj=0xff2beed5c1e56d00
         gemtool-161     [000] .....     6.204000: tracing_mark_write: two
         gemtool-161     [000] .....     6.204190: gemco_pages: (__i915_gem_object_set_pages+0x4/0x270 [i915]) obj=0xff2beed5c1e56d00 pages=0xff2beed5c377b9e0
         gemtool-161     [000] .....     6.204226: gemco_sg: (drm_clflush_sg+0x4/0xd0 [drm]) pages=0xff2beed5c377b9e0 caller=__i915_gem_object_set_pages+0x255/0x270 [i915]
         gemtool-161     [000] .....     6.204300: i915_gem_object_pwrite: obj=ff2beed5c1e56d00, offset=0x40, len=0x64
         gemtool-161     [000] .....     6.204310: gemco_range: (drm_clflush_virt_range+0x4/0x60 [drm]) len=100 caller=shmem_pwrite+0x1c5/0x270 [i915]
    kworker/u4:0-12      [000] .....     6.205000: gemco_sg: (drm_clflush_sg+0x4/0xd0 [drm]) pages=0xff2beed5c377b9e0 caller=clflush_work+0x21/0x60 [i915]
         gemtool-161     [000] .....     6.206000: gemco_sg: (drm_clflush_sg+0x4/0xd0 [drm]) pages=0xff2beed5c0000000 caller=i915_gem_clflush_object+0x21/0x60 [i915]
";

    const OBJECT: u64 = 0xff2b_eed5_c1e5_6d00;

    fn calls(trace: &str) -> Vec<TracedCall> {
        let mut attribution = Attribution::new();
        let columns = |line: &str| {
            let (name, rest) = line.trim_start().split_once('-').expect("a thread");
            format!("{name:>16}-{rest}")
        };
        let seen = trace.lines().map(|line| parse(columns(line)).expect(line));
        seen.for_each(|seen| attribution.feed(&seen));
        attribution.finish()
    }

    #[test]
    fn flushes_are_of_objects_and_calls_and_the_drivers_own_are_left_out() {
        let calls = calls(TRACE);
        let marks: Vec<_> = calls.iter().map(|call| call.mark.as_deref()).collect();
        assert_eq!(marks, [Some("one"), Some("two")]);
        assert_eq!((&calls[0].named[..], &calls[0].flushes[..]), (&[OBJECT][..], &[][..]));
        let seen: Vec<_> =
            calls[1].flushes.iter().map(|flush| (flush.object, flush.kind, flush.asynchronous)).collect();
        let whole = Kind::Whole { bytes: Some(65536) };
        assert_eq!(
            seen,
            [
                (Some(OBJECT), whole, false),
                (Some(OBJECT), Kind::Range { bytes: 100, toucher: Toucher::Transfer }, false),
                (Some(OBJECT), whole, true),
                // Pages acquired before the trace: the owner is unknown.
                (None, Kind::Whole { bytes: None }, false),
            ]
        );
    }

    #[test]
    fn an_address_that_is_reused_belongs_to_the_new_object() {
        let reused = TRACE.to_owned()
            + "gemtool-161 [000] ..... 7.000000: tracing_mark_write: three\n\
               gemtool-161 [000] ..... 7.000001: gemco_created: (f+0x4/0xe0 [drm]) dev=0xff2beed5c3400000 obj=0xff2beed5c1e56d00 size=8192\n\
               gemtool-161 [000] ..... 7.000002: gemco_pages: (f+0x4/0x270 [i915]) obj=0xff2beed5c1e56d00 pages=0xff2beed5c377b9e0\n\
               gemtool-161 [000] ..... 7.000003: gemco_sg: (f+0x4/0xd0 [drm]) pages=0xff2beed5c377b9e0 caller=g+0x255/0x270 [i915]\n";
        assert_eq!(calls(&reused)[2].flushes, [], "an object of the driver's own");
    }

    #[test]
    fn a_wbinvd_is_of_the_import_whose_pages_follow() {
        let trace = "\
            x-1 [000] ..... 7.000000: tracing_mark_write: import
            x-1 [000] ..... 7.000001: gemco_wbinvd: (wbinvd_on_all_cpus+0x4/0x20) caller=i915_gem_object_get_pages_dmabuf+0x9b/0x120 [i915]
            y-2 [000] ..... 7.000002: gemco_pages: (f+0x4/0x270 [i915]) obj=0xa pages=0xb
            x-1 [000] ..... 7.000003: gemco_pages: (f+0x4/0x270 [i915]) obj=0xc pages=0xd
            x-1 [000] ..... 7.000004: gemco_wbinvd: (wbinvd_on_all_cpus+0x4/0x20) caller=cpa_flush+0x9b/0x120
            x-1 [000] ..... 7.000005: gemco_wbinvd: (wbinvd_on_all_cpus+0x4/0x20) caller=i915_ggtt_resume+0x9b/0x120 [i915]
";
        let seen: Vec<_> = calls(trace)[0].flushes.iter().map(|flush| (flush.object, flush.kind)).collect();
        assert_eq!(seen, [(Some(0xc), Kind::Wbinvd), (None, Kind::Wbinvd)]);
    }
}
