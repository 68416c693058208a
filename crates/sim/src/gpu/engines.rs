//! What a device's engines share: the device, the errors, and the times after which batches are ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fault_log::FaultLog;
use super::shader_clock::ShaderClock;
use super::times::GpuTimes;
use crate::kernel::objects::system::System;
use gem_coherency::platform::Engine;
use gem_coherency::sync::Mutex;

/// The speed of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Submissions run in their order, each at once and to its end.
    #[default]
    Instant,
    /// Engines run beside each other, and batches that wait for memory keep running.
    Timed,
}

/// A context's queue on an engine (`struct intel_context`), the unit of bans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// The queue of an engine of the default set.
    Default(Engine),
    /// The queue of this slot of the engines chosen by userspace.
    Slot(u32),
}

impl Lane {
    /// Returns a number that no other queue of the context has.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Default(Engine { class, instance }) => {
                1 << 32 | u64::from(class.number()) << 16 | u64::from(instance)
            }
            Self::Slot(slot) => u64::from(slot),
        }
    }
}

/// The engines of a device.
#[derive(Debug)]
pub(crate) struct Engines {
    pub(crate) system: Arc<System>,
    pub(super) pace: Pace,
    times: Mutex<GpuTimes>,
    /// The program that waited for the shaders is gone.
    stopped: AtomicBool,
    /// The log of errors.
    pub(crate) fault_log: FaultLog,
}

impl Engines {
    /// Creates the engines of a device.
    pub(super) fn new(system: &Arc<System>, pace: Pace, times: GpuTimes) -> Self {
        let system = Arc::clone(system);
        let (times, stopped) = (Mutex::new(times), AtomicBool::new(false));
        Self { system, pace, times, stopped, fault_log: FaultLog::default() }
    }

    /// Returns the times after which the kernel ends batches.
    pub(super) fn times(&self) -> GpuTimes {
        *self.times.lock()
    }

    /// Sets the times after which the kernel ends batches.
    pub(crate) fn set_times(&self, times: GpuTimes) {
        *self.times.lock() = times;
    }

    /// Ends the shaders that run, and those that are started.
    pub(crate) fn stop_shaders(&self) {
        // Relaxed: a shader looks again.
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether shaders are to end.
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: see `stop_shaders`.
        self.stopped.load(Ordering::Relaxed)
    }

    /// Starts the clock of a shader of so many threads.
    pub(crate) fn shader_clock(&self, threads: u64) -> ShaderClock {
        // With other paces, any thread may run the shader.
        ShaderClock::start(threads, self.times().thread, self.pace == Pace::Instant)
    }
}
