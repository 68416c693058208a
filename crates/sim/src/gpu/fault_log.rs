//! The log of GPU errors: accesses to unbound addresses, and hangs.

use std::collections::VecDeque;
use std::sync::MutexGuard;

use serde::Serialize;

use gem_coherency::platform::EngineClass;
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::{Access, words};

/// Number of entries of each kind kept; older ones are dropped.
const KEPT: usize = 1 << 16;

/// An access of a batch to an unbound address.
///
/// It goes to the kernel's scratch page: reads return zeroes, and writes are lost. A range is logged once for
/// each page; a batch that runs into an unbound range, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GpuFault {
    /// The first byte of the accessed page.
    pub address: u64,
    /// Read or write.
    pub access: Access,
    /// The engine that ran the batch.
    #[serde(serialize_with = "engine")]
    pub engine: EngineClass,
}

words! {
    /// The reason why a batch did not complete.
    HangCause, "hang cause" {
        /// A command that this engine generation does not have, or one with a wrong length.
        Unknown = "unknown-command",
        /// A command of a copy engine, or a form of one (tiled, compressed), that hardware supports and this
        /// GPU does not; on graphics 2 and 3 a command whose length is not simulated.
        Unsupported = "unsupported-command",
        /// A command that a userspace batch may not use: it has a global GTT address.
        Privileged = "privileged-command",
        /// A loop, a semaphore that is never signalled, a batch without an end within the bound memory, or one
        /// that exceeds the cost limit.
        Endless = "endless",
        /// A shader with an instruction that breaks a rule of the hardware.
        InvalidShader = "invalid-shader",
    }
}

words! {
    /// The kernel's reaction to a batch that did not complete.
    Remedy, "remedy" {
        /// It reset the engine, and the context is guilty.
        Reset = "reset",
        /// It cancelled the batch after a timeout (`i915.request_timeout_ms`): an engine that can be
        /// preempted is not hung, so no context is guilty.
        Cancelled = "cancelled",
    }
}

/// A batch that did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GpuHang {
    /// The cause.
    pub cause: HangCause,
    /// The address of the command at which the engine stopped.
    pub address: u64,
    /// The command's first dword.
    pub command: u32,
    /// The engine.
    #[serde(serialize_with = "engine")]
    pub engine: EngineClass,
    /// The kernel's remedy.
    pub remedy: Remedy,
    /// The rule that an instruction of a shader breaks.
    pub rule: Option<&'static str>,
}

fn engine<S: serde::Serializer>(engine: &EngineClass, serializer: S) -> Result<S::Ok, S::Error> {
    engine.number().serialize(serializer)
}

/// The errors of a device, oldest first.
#[derive(Debug, Default)]
pub(crate) struct FaultLog {
    faults: Mutex<VecDeque<GpuFault>>,
    hangs: Mutex<VecDeque<GpuHang>>,
}

impl FaultLog {
    /// Logs an access to an unbound address.
    pub(super) fn fault(&self, fault: GpuFault) {
        tracing::warn!(address = fault.address, access = %fault.access, engine = ?fault.engine, "GPU fault");
        push(&mut self.faults.lock(), fault);
    }

    /// Logs a hang.
    pub(super) fn hang(&self, hang: GpuHang) {
        tracing::warn!(
            cause = %hang.cause,
            address = hang.address,
            command = hang.command,
            engine = ?hang.engine,
            remedy = %hang.remedy,
            rule = hang.rule,
            "GPU hang"
        );
        push(&mut self.hangs.lock(), hang);
    }

    /// Locks the list of accesses to unbound addresses.
    pub(crate) fn faults(&self) -> MutexGuard<'_, VecDeque<GpuFault>> {
        self.faults.lock()
    }

    /// Locks the list of hangs.
    pub(crate) fn hangs(&self) -> MutexGuard<'_, VecDeque<GpuHang>> {
        self.hangs.lock()
    }
}

fn push<T>(list: &mut VecDeque<T>, entry: T) {
    if list.len() == KEPT {
        list.pop_front();
    }
    list.push_back(entry);
}
