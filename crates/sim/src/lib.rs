//! A software i915: it behaves like the kernel, and its memory goes stale as on the hardware.
//!
//! Every object has two byte stores: what the CPU sees through its caches, and what memory holds. Every
//! agent's access goes through [`gem_coherency_hierarchy`], so a missing flush shows as stale bytes. A fresh
//! object's memory holds [`PREVIOUS_OWNER`]'s bytes until its zeroes, which are dirty in the cache, are
//! flushed. [`gem_coherency::policy::kernel`] determines the state that the kernel keeps for an object and
//! the flushes it does; this crate executes them and logs them in [`Soft::kernel_flushes`].
//!
//! The display has CRTCs, planes and a screen, by the typed requests of [`gem_coherency::drm::display`] and by number.
//! [`Soft::display_crc`] tells what it reads from memory; [`Soft::events`] and [`Process::read`] return its events.
//!
//! Stores of up to ten lines stay in the write-combining buffers until a drain, a fence in the kernel, or a
//! load on the same route. Not simulated: instruction reordering, several CPUs, and the GPU's own caches
//! between batches. Where a real device raises SIGBUS, the access returns an error that names the page fault,
//! and is counted ([`Soft::bus_errors`]).
//!
//! ```
//! use gem_coherency::drm::Drm;
//! use gem_coherency_sim::Soft;
//! use gem_coherency::vocabulary::{MmapMode, MocsClass};
//!
//! let device = Soft::open("sim:glk")?;
//! let bo = device.create(4096)?;
//! let map = device.map(bo.handle, MmapMode::Wb, bo.size_bytes)?;
//! map.copy_in(0, b"new")?;
//! let mut seen = [0; 3];
//! device.gpu_read(bo.handle, MocsClass::PageTable, 0, &mut seen)?;
//! assert_eq!(seen, [0; 3], "no flush: the GPU of a Gemini Lake sees old bytes");
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! # Layers
//!
//! Imports point down only, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L3  attempt -> process: a program's calls, by descriptor and address
//! L2  device -> requests   display -> requests: typed requests, and those with numbers
//! L1  agents   traced: loads, stores and reads by the CPU, the GPU and the display; the trace
//! L0  machine   crc: objects, memory, GPU, display hardware, the kernel's state
//! ```

#![deny(unsafe_code)]

#[path = "device/agents.rs"]
mod agents;
#[path = "calls/attempt.rs"]
mod attempt;
#[path = "display/crc.rs"]
mod crc;
#[path = "device/typed.rs"]
mod device;
#[path = "device/display.rs"]
mod display;
mod machine;
#[path = "calls/process.rs"]
mod process;
mod requests;
#[path = "calls/traced.rs"]
mod traced;

pub use attempt::{Attempt, Waits};
pub use crc::Crc;
pub use gem_coherency_hierarchy::{Place, Route};
pub use machine::area::Pages;
pub use machine::coverage::{Coverage, Reasons, Work as CoveredWork};
pub use machine::deeds::{Deed, Fact, FoundLine, Instruction, Upkeep};
pub use machine::domain_calls::MadeCall;
pub use machine::eventfd::{EventFile, deliver_events};
pub use machine::faults::Fault;
pub use machine::files::{FileKind, OpenFile, ProgramFiles};
pub use machine::gpu::{
    GpuFault, GpuHang, GpuTimes, HangCause, KernelClock, KernelProgress, Overtime, Remedy, end_kernels_when,
    report_kernels,
};
pub use machine::history::{AccessedLines, LineStates, Recorded, RecordedEvent};
pub use machine::incoherent::{DirtyAtSubmission, Incoherent, IncoherentKind, MadeStale};
pub use machine::log::KernelFlush;
pub use machine::on_screen::Screens;
pub use machine::program::{ProgramMemory, Shown};
pub use machine::real_gpu::{Counterpart, Ended, Operand, RealGpu, Work, Written};
pub use machine::spec::PREFIX;
pub use machine::store::PREVIOUS_OWNER;
pub use machine::views::Views;
pub use process::Process;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gem_coherency::device::Device;
use gem_coherency::drm::Param;
use gem_coherency::error::Result;
use gem_coherency::fork::Confined;
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::KernelRules;
use machine::context::Contexts;
use machine::handles::Handles;
use machine::masters::Client;
use machine::space::Space;
use machine::spec::Spec;
use machine::syncobj::Syncobjs;
use machine::system::System;

/// Links the software device, so that [`Device::open`] can open `sim:...`.
pub fn link() {
    gem_coherency::device::link_soft(|name| Ok(Arc::new(Soft::open(name)?)));
}

/// Links the software device and opens the device `spec` with [`Device::open`].
///
/// # Errors
/// As [`Device::open`].
pub fn open(spec: &str) -> Result<Device> {
    link();
    Device::open(spec)
}

/// An open file of a software i915, which has a device and a machine of its own unless it was opened by
/// [`Soft::open_again`].
#[derive(Debug)]
pub struct Soft {
    name: String,
    system: Arc<System>,
    own: Confined<Own>,
    mappings: Arc<AtomicU64>,
    minor: Minor,
    /// The hangs of the file's contexts.
    hangs: Arc<machine::gpu::Client>,
    /// A parameter that the file reports with another value than the machine's.
    reported: Option<(Param, i32)>,
    maps: Maps,
}

/// The memory that a file's mappings show.
#[derive(Clone, Copy, Debug)]
enum Maps {
    /// The objects' bytes.
    Objects,
    /// Ordinary memory of this process.
    OrdinaryMemory,
}

/// The state of an open file.
#[derive(Debug)]
struct Own {
    /// Its number among the device's files.
    number: u64,
    handles: Mutex<Handles>,
    client: Mutex<Client>,
    contexts: Mutex<Contexts>,
    syncobjs: Mutex<Syncobjs>,
    /// Ids of the framebuffers that the file created, newest first.
    framebuffers: Mutex<Vec<u32>>,
}

/// A device node (`enum drm_minor_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minor {
    /// `/dev/dri/card0`.
    Primary,
    /// `/dev/dri/renderD128`: display requests fail with EACCES.
    Render,
}

impl Soft {
    /// Opens the device described by `name`, such as `sim:jsl` or `sim:jsl,kernel=6.1,seed=7`.
    ///
    /// Options after the platform:
    /// - `kernel=X.Y`: the kernel version; 6.12 by default.
    /// - `edram=0|1`: 1 on Haswell by default, else 0.
    /// - `adversary=on|off`, `seed=N`: spontaneous cache activity; off by default.
    /// - `memory=cached|coherent`: `coherent` makes every agent see every byte at once, as under emulation;
    ///   `cached` by default.
    /// - `gpu=instant|timed`: `timed` lets batches take time: engines run beside each other, and a batch that polls
    ///   memory runs until a program ends it, or the kernel does ([`Soft::set_gpu_times`]); `instant` by default.
    /// - `selfsnoop=on|off`: whether the CPU looks its own caches up at accesses of programs through WC mappings; by default,
    ///   as Linux takes the CPU of the platform. `off` is refused where i915 relies on it: with an LLC, and on Meteor Lake.
    /// - `display=on|off`: whether the display is present or fused off; off by default where a fuse exists.
    /// - `without=RULE`: a kernel that lacks a rule.
    /// - `drop=ASSUMPTION`: hardware for which an assumption of [`gem_coherency_hierarchy::Assumption`] does not hold.
    /// - `hang=TIME`: the time after which a thread of a GPU kernel never ends ([`GpuTimes::thread`]).
    /// - `id=HEX`: another of the platform's PCI IDs.
    /// - `revision=HEX`: the PCI revision; that of the last production stepping by default.
    /// - `fault=FAULT[@N]`: a fault at the N-th request that it can hit; may be repeated.
    ///
    /// # Errors
    /// [`gem_coherency::OpenError::BadDeviceSpec`], with the reason and the allowed values.
    pub fn open(name: &str) -> Result<Self> {
        Self::of_spec(name, &Spec::parse(name)?)
    }

    /// Opens a device for programs: as [`Self::open`], with a display unless the name says `display=off`, and with hardware that holds every
    /// assumption of the kernel.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for_programs(name: &str) -> Result<Self> {
        Self::of_spec(name, &Spec::parse_for_programs(name)?)
    }

    fn of_spec(name: &str, spec: &Spec) -> Result<Self> {
        tracing::debug!(name, kernel = %spec.machine.kernel, "open");
        let system = Arc::new(System::new(spec));
        machine::progress::register(&system);
        Ok(Self::on(system, name, Minor::Primary, Client::default()))
    }

    /// Opens the same device again, as another file with its own handles to the same objects.
    ///
    /// If the primary node has no master, the new file becomes its master.
    pub fn open_again(&self, minor: Minor) -> Self {
        let client = match minor {
            Minor::Primary => self.system.masters().open(),
            Minor::Render => Client::default(),
        };
        Self::on(Arc::clone(&self.system), &self.name, minor, client)
    }

    fn on(system: Arc<System>, name: &str, minor: Minor, client: Client) -> Self {
        let number = system.open();
        let own = Own {
            number,
            handles: Mutex::default(),
            client: Mutex::new(client),
            contexts: Mutex::new(Contexts::new(first_space(system.machine))),
            syncobjs: Mutex::default(),
            framebuffers: Mutex::default(),
        };
        let own = Confined::new(own);
        Self {
            name: name.to_owned(),
            system,
            own,
            mappings: Arc::default(),
            minor,
            hangs: Arc::default(),
            reported: None,
            maps: Maps::Objects,
        }
    }

    /// Reports `value` for `param`, as a device does that differs from the platform table.
    #[must_use]
    pub fn reporting(mut self, param: Param, value: i32) -> Self {
        self.reported = Some((param, value));
        self
    }

    /// Maps ordinary memory of this process instead of the objects' bytes, and treats it as the kernel's, so
    /// that flush instructions act on real caches. The CPU and the GPU then do not see each other's writes.
    #[must_use]
    pub fn mapping_ordinary_memory(mut self) -> Self {
        self.maps = Maps::OrdinaryMemory;
        self
    }

    /// Returns the node by which the file was opened.
    pub fn minor(&self) -> Minor {
        self.minor
    }

    /// Returns whether both are files of one device.
    pub fn is_same_device(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.system, &other.system)
    }

    /// Returns the machine that the device simulates.
    pub fn machine(&self) -> Machine {
        self.system.machine
    }

    /// Returns the rules of its kernel.
    pub fn rules(&self) -> KernelRules {
        self.system.rules
    }

    /// Returns whether the file is the device's master.
    fn is_master(&self) -> bool {
        self.system.masters().is_current(&self.client())
    }

    /// Locks the file's master state; locked after the masters where both are.
    fn client(&self) -> MutexGuard<'_, Client> {
        self.own.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the ids of the framebuffers that the file created, newest first; no other lock is taken under
    /// it.
    fn own_framebuffers(&self) -> MutexGuard<'_, Vec<u32>> {
        self.own.framebuffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the file's syncobjs; no other lock is taken under it.
    fn syncobjs(&self) -> MutexGuard<'_, Syncobjs> {
        self.own.syncobjs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.own.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the address space of a file's default context, where contexts have their own.
fn first_space(machine: Machine) -> Option<Arc<Mutex<Space>>> {
    machine.has_full_ppgtt().then(|| machine::limits::address_space(machine))
}

impl Drop for Soft {
    fn drop(&mut self) {
        if !self.own.is_here() {
            // Another thread of the parent may have been changing the device at the fork.
            std::mem::forget(Arc::clone(&self.system));
            return;
        }
        for id in std::mem::take(&mut *self.own_framebuffers()) {
            // drm_fb_release ignores errors.
            let _ = self.system.remove_framebuffer(id);
        }
        self.release_display();
        let client = self.own.client.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.system.masters().release(client);
        self.close_contexts();
        self.system.close();
    }
}
