//! Fences of EXECBUFFER2 that are not signalled: as files, in arrays and on timelines.

use super::*;

const WAIT: u32 = I915_EXEC_FENCE_WAIT;
const SIGNAL: u32 = I915_EXEC_FENCE_SIGNAL;

/// Two contexts, a spinner, and a batch that stores to a target.
struct Two {
    program: Program,
    contexts: [u32; 2],
    spinner: Buffer,
    target: Buffer,
    batch: Buffer,
}

impl Two {
    #[track_caller]
    fn new() -> Self {
        let mut program = Program::new("tgl,gpu=timed");
        let contexts = [program.context(), program.context()];
        let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        let batch = program.store(target);
        Self { program, contexts, spinner, target, batch }
    }

    /// Submits the spinner to one context or the batch to the other one; returns the file of the fence if asked for.
    #[track_caller]
    fn submit(&mut self, second: bool, args: drm_i915_gem_execbuffer2) -> Result<i32, Errno> {
        let context = self.contexts[usize::from(second)];
        let ring = if second { I915_EXEC_BLT } else { I915_EXEC_RENDER };
        let args = drm_i915_gem_execbuffer2 { flags: args.flags | ring, rsvd1: context.into(), ..args };
        let batch = if second { self.batch } else { self.spinner };
        let objects = [(self.target, if second { EXEC_OBJECT_WRITE } else { 0 }), (batch, 0)];
        let objects = if second { &objects } else { &objects[1..] };
        Ok((self.program.submit(objects, args)?.rsvd2 >> 32) as i32)
    }

    /// An array of one entry.
    fn array(&mut self, handle: u32, flags: u32) -> drm_i915_gem_execbuffer2 {
        let cliprects_ptr = self.program.put(ENTRIES, &drm_i915_gem_exec_fence { handle, flags });
        drm_i915_gem_execbuffer2 {
            cliprects_ptr,
            num_cliprects: 1,
            flags: I915_EXEC_FENCE_ARRAY,
            ..Default::default()
        }
    }

    /// An array of one entry and its point.
    fn points(&mut self, handle: u32, point: u64, flags: u32) -> drm_i915_gem_execbuffer2 {
        let handles_ptr = self.program.put(ENTRIES, &drm_i915_gem_exec_fence { handle, flags });
        let values_ptr = self.program.put(ENTRIES + 8, &point);
        let extension = drm_i915_gem_execbuffer_ext_timeline_fences {
            fence_count: 1,
            handles_ptr,
            values_ptr,
            ..Default::default()
        };
        let cliprects_ptr = self.program.put(ENTRIES + 64, &extension);
        drm_i915_gem_execbuffer2 { cliprects_ptr, flags: I915_EXEC_USE_EXTENSIONS, ..Default::default() }
    }

    /// Checks that the batch has run already, or runs only after the spinner.
    #[track_caller]
    fn check(mut self, runs: bool) {
        assert_eq!((self.program.busy(self.batch) == 0, self.program.word(self.target) == 7), (runs, runs));
        let spinner = self.spinner;
        assert_ne!(self.program.busy(spinner), 0);
        self.program.end(spinner);
        assert_eq!((self.program.busy(self.batch), self.program.word(self.target)), (0, 7));
    }
}

#[test]
fn an_array_orders_contexts() {
    for (flags, runs) in [(WAIT, false), (0, true)] {
        let mut two = Two::new();
        let syncobj = two.program.syncobj();
        let args = two.array(syncobj, SIGNAL);
        two.submit(false, args).unwrap();
        let args = two.array(syncobj, flags);
        two.submit(true, args).unwrap();
        two.check(runs);
    }
}

#[test]
fn a_timeline_orders_contexts() {
    for (flags, runs) in [(WAIT, false), (0, true)] {
        let mut two = Two::new();
        let syncobj = two.program.syncobj();
        let args = two.points(syncobj, 5, SIGNAL);
        two.submit(false, args).unwrap();
        let args = two.points(syncobj, 6, WAIT);
        assert_eq!(two.submit(true, args), Err(Errno::EINVAL), "there is no such point yet");
        let args = two.points(syncobj, 5, flags);
        two.submit(true, args).unwrap();
        two.check(runs);
    }
}

#[test]
fn a_fence_file_orders_contexts_and_one_for_the_start_only_starts() {
    for (flags, runs) in [(I915_EXEC_FENCE_IN, false), (I915_EXEC_FENCE_SUBMIT, true), (0, true)] {
        let mut two = Two::new();
        let fence =
            two.submit(false, drm_i915_gem_execbuffer2 { flags: I915_EXEC_FENCE_OUT, ..Default::default() });
        let rsvd2 = fence.unwrap() as u64;
        two.submit(true, drm_i915_gem_execbuffer2 { flags, rsvd2, ..Default::default() }).unwrap();
        two.check(runs);
    }
}

#[test]
fn a_fence_for_the_start_waits_for_it() {
    let mut two = Two::new();
    let out = drm_i915_gem_execbuffer2 { flags: I915_EXEC_FENCE_OUT, ..Default::default() };
    let first = two.submit(false, out).unwrap() as u64;
    // The first batch again, on another engine, after the spinner.
    let (waiting, context) = (two.program.spinner(), two.contexts[0]);
    let flags = I915_EXEC_FENCE_IN | I915_EXEC_FENCE_OUT | I915_EXEC_BSD;
    let args = drm_i915_gem_execbuffer2 { flags, rsvd1: context.into(), rsvd2: first, ..Default::default() };
    let second = two.program.submit(&[(waiting, 0)], args).unwrap().rsvd2 >> 32;
    let flags = I915_EXEC_FENCE_SUBMIT;
    two.submit(true, drm_i915_gem_execbuffer2 { flags, rsvd2: second, ..Default::default() }).unwrap();
    two.check(false);
}
