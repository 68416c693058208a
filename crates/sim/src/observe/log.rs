//! The log of the simulated kernel's flushes.

use std::collections::VecDeque;

use serde::Serialize;

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Action;
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::Handle;

/// Number of entries kept; older ones are dropped.
const KEPT: usize = 1 << 16;

/// One flush by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KernelFlush {
    /// The request that caused it, by its name in the uAPI header, or another cause.
    pub call: &'static str,
    /// The object's number on the device, from 1 in order of creation; 0 for a wbinvd.
    pub object: u64,
    /// The object's first handle; `None` without one.
    #[serde(serialize_with = "number")]
    pub handle: Option<Handle>,
    /// The flush that was issued.
    pub action: Action,
    /// The rule that required it.
    pub rule: Rule,
    /// Bytes of the object that were to be flushed; whole lines were.
    pub bytes: u64,
    /// Dirty lines that were written back; of all objects for a wbinvd.
    pub lines_written: u64,
}

/// Serializes a handle as a number.
fn number<S: serde::Serializer>(handle: &Option<Handle>, serializer: S) -> Result<S::Ok, S::Error> {
    handle.map(Handle::get).serialize(serializer)
}

/// The flushes of a device, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<VecDeque<KernelFlush>>);

impl Log {
    pub(crate) fn push(&self, flush: KernelFlush) {
        tracing::debug!(
            call = flush.call,
            handle = flush.handle.map(Handle::get),
            action = %flush.action,
            rule = %flush.rule,
            bytes = flush.bytes,
            lines = flush.lines_written,
            "flush"
        );
        let mut flushes = self.0.lock();
        if flushes.len() == KEPT {
            flushes.pop_front();
        }
        flushes.push_back(flush);
    }

    pub(crate) fn take(&self) -> Vec<KernelFlush> {
        self.0.lock().drain(..).collect()
    }

    pub(crate) fn all(&self) -> Vec<KernelFlush> {
        self.0.lock().iter().copied().collect()
    }
}
