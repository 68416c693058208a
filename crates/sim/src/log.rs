//! Every flush that the software kernel did.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Action;
use gem_coherency::vocabulary::Handle;

/// Entries kept; older ones are forgotten.
const KEPT: usize = 1 << 16;

/// One flush by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KernelFlush {
    /// The request that led to it, as the uAPI header names it, or what else it was.
    pub call: &'static str,
    /// Which object of the device, counted from 1 in order of creation; 0 for a wbinvd.
    pub object: u64,
    /// The object's first name; `None` for one that has none.
    #[serde(serialize_with = "number")]
    pub handle: Option<Handle>,
    /// What was issued.
    pub action: Action,
    /// Why.
    pub rule: Rule,
    /// Bytes of the object that were to be flushed: their lines are.
    pub bytes: u64,
    /// Lines that were dirty, and are in memory now; of all objects for a wbinvd.
    pub lines_written: u64,
}

/// A handle as the number it is.
fn number<S: serde::Serializer>(handle: &Option<Handle>, serializer: S) -> Result<S::Ok, S::Error> {
    handle.map(Handle::get).serialize(serializer)
}

/// The flushes of a device, oldest first.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<VecDeque<KernelFlush>>);

impl Log {
    pub(super) fn push(&self, flush: KernelFlush) {
        tracing::debug!(
            call = flush.call,
            handle = flush.handle.map(Handle::get),
            action = %flush.action,
            rule = %flush.rule,
            bytes = flush.bytes,
            lines = flush.lines_written,
            "flush"
        );
        let mut flushes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if flushes.len() == KEPT {
            flushes.pop_front();
        }
        flushes.push_back(flush);
    }

    pub(super) fn take(&self) -> Vec<KernelFlush> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    pub(super) fn all(&self) -> Vec<KernelFlush> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}
