//! What went wrong on the GPU: accesses to nothing, and hangs.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use gem_coherency::platform::EngineClass;
use gem_coherency::vocabulary::{Access, words};

/// Entries of each kind that are kept; older ones are forgotten.
const KEPT: usize = 1 << 16;

/// An access of a batch to an address where nothing is bound.
///
/// What was read is zeroes, and what was written is lost: it went to the kernel's scratch page. A range
/// is recorded once for each page, and a batch that runs into nothing once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GpuFault {
    /// The first byte of the page that was wanted.
    pub address: u64,
    /// Whether it was read or written.
    pub access: Access,
    /// The engine that ran the batch.
    #[serde(serialize_with = "engine")]
    pub engine: EngineClass,
}

words! {
    /// Why a batch did not come to its end.
    HangCause, "hang cause" {
        /// A command that the engine of this generation does not have, or one of a wrong length.
        Unknown = "unknown-command",
        /// A command or a form of one (tiled, compressed) that hardware has and this GPU does not.
        Unsupported = "unsupported-command",
        /// A command that a batch of userspace may not use: an address of the global space.
        Privileged = "privileged-command",
        /// Jumps in a circle, no end before the bound memory's, or too much to do.
        Endless = "endless",
    }
}

words! {
    /// What the kernel did about a batch that did not come to its end.
    Remedy, "remedy" {
        /// It reset the engine, and the context is guilty.
        Reset = "reset",
        /// It cancelled the batch after its time (`i915.request_timeout_ms`): an engine that can turn
        /// to something else is not hung, and nobody is guilty.
        Cancelled = "cancelled",
    }
}

/// A batch that did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GpuHang {
    /// Why.
    pub cause: HangCause,
    /// The address of the command where the engine stood.
    pub address: u64,
    /// The command's first dword.
    pub command: u32,
    /// The engine.
    #[serde(serialize_with = "engine")]
    pub engine: EngineClass,
    /// What became of it.
    pub remedy: Remedy,
}

fn engine<S: serde::Serializer>(engine: &EngineClass, serializer: S) -> Result<S::Ok, S::Error> {
    engine.number().serialize(serializer)
}

/// What went wrong on a device, oldest first.
#[derive(Debug, Default)]
pub(crate) struct FaultLog {
    faults: Mutex<VecDeque<GpuFault>>,
    hangs: Mutex<VecDeque<GpuHang>>,
}

impl FaultLog {
    /// Records an access to nothing.
    pub(super) fn fault(&self, fault: GpuFault) {
        tracing::warn!(address = fault.address, access = %fault.access, engine = ?fault.engine, "GPU fault");
        push(&mut lock(&self.faults), fault);
    }

    /// Records a hang.
    pub(super) fn hang(&self, hang: GpuHang) {
        tracing::warn!(
            cause = %hang.cause,
            address = hang.address,
            command = hang.command,
            engine = ?hang.engine,
            remedy = %hang.remedy,
            "GPU hang"
        );
        push(&mut lock(&self.hangs), hang);
    }

    /// Accesses to nothing.
    pub(crate) fn faults(&self) -> MutexGuard<'_, VecDeque<GpuFault>> {
        lock(&self.faults)
    }

    /// Hangs.
    pub(crate) fn hangs(&self) -> MutexGuard<'_, VecDeque<GpuHang>> {
        lock(&self.hangs)
    }
}

fn lock<T>(list: &Mutex<VecDeque<T>>) -> MutexGuard<'_, VecDeque<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

fn push<T>(list: &mut VecDeque<T>, entry: T) {
    if list.len() == KEPT {
        list.pop_front();
    }
    list.push_back(entry);
}
