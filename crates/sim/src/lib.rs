//! A software i915: it behaves like the kernel, and its memory goes stale as on the hardware.
//!
//! Every object has two copies of its bytes: what the CPU sees through its caches, and what memory holds. Every
//! agent's access goes through [`gem_coherency_memory_model`], so a missing flush shows as stale bytes. A fresh
//! object's memory holds [`PREVIOUS_OWNER`]'s bytes until its zeroes, which are dirty in the cache, are
//! flushed. [`gem_coherency::policy::kernel`] determines the state that the kernel keeps for an object and
//! the flushes it does; this crate executes them and logs them in [`SimDevice::kernel_flushes`].
//!
//! The display has CRTCs, planes and a screen, by the typed requests of [`gem_coherency::backend::display`] and by number.
//! [`SimDevice::display_crc`] tells what it reads from memory; [`SimDevice::events`] and [`Process::read`] return its events.
//!
//! Stores of up to ten lines stay in the write-combining buffers until a drain, a fence in the kernel, or a
//! load on the same route. Not simulated: instruction reordering, several CPUs, and the GPU's own caches
//! between batches. Where a real device raises SIGBUS, the access returns an error that names the page fault,
//! and is counted ([`SimDevice::bus_errors`]).
//!
//! ```
//! use gem_coherency::backend::Drm;
//! use gem_coherency_sim::SimDevice;
//! use gem_coherency::vocabulary::{MmapMode, MocsClass};
//!
//! let device = SimDevice::open("sim:glk")?;
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
//! Imports point down, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L5  calls   device: what programs call, by descriptor and address; what Rust code calls
//! L4  requests: the requests by number, with the kernel's checks
//! L3  gpu   display   process: what uses objects
//! L2  kernel: objects and address spaces
//! L1  observe   sync: the logs and the trace; fences
//! L0  memory -> refuse: the bytes of objects
//! ```
//!
//! * `calls`: a program's calls, by descriptor and address, and those that do not block. Not the requests behind them.
//! * `device`: the typed requests of a device's file, and the accesses of its agents. Not requests by number.
//! * `requests`: the requests by number, whose structs are in the caller's memory. Not what they change.
//! * `gpu`: the GPU, its queue, its commands and its hangs. Not the objects that batches access.
//! * `display`: CRTCs, planes, framebuffers, commits and vertical blanks. Not the display requests.
//! * `process`: a process's mappings and open files. Not its calls.
//! * `kernel`: objects, their handles, names, pages and mappings, address spaces, and what all objects of a device share. Not the bytes of
//!   objects.
//! * `observe`: the trace, and the logs of flushes and incoherent accesses. Not the accesses themselves.
//! * `sync`: fences, syncobjs, eventfds, and waits for them. Not the queue of the GPU.
//! * `memory`: bytes and cache lines of objects, and what moves them. Not which object they belong to.
//! * `refuse`: the error of a refused request. Not its checks.

#![deny(unsafe_code)]

mod calls;
mod device;
mod display;
mod gpu;
mod kernel;
mod memory;
mod observe;
mod process;
mod refuse;
mod requests;
mod sync;

pub use calls::attempt::{Attempt, Waits};
pub use calls::process::Process;
pub use device::usage::{EngineUse, MemoryUse};
pub use display::crc::Crc;
pub use display::on_screen::Screens;
pub use gem_coherency_memory_model::{Mistake, Place, Route};
pub use gpu::real_gpu::{Ended, Operand, RealGpu, Work, Written};
pub use gpu::{
    GpuFault, GpuHang, GpuTimes, HangCause, Overtime, Remedy, ShaderClock, ShaderProgress, end_shaders_when,
    report_shaders,
};
pub use kernel::counterpart::Counterpart;
pub use kernel::hardware::XE_CLOCK_HZ;
pub use kernel::injected_faults::InjectedFault;
pub use kernel::objects::state::NewObject;
pub use kernel::objects::system::step_of_xe;
pub use kernel::spaces::vm::level_of;
pub use kernel::spec::PREFIX;
pub use memory::backing_store::PREVIOUS_OWNER;
pub use memory::program::{Pages, ProgramMemory, Shown};
pub use memory::views::Views;
pub use observe::asked::{AskedBind, AskedMemory, AskedObject, AskedOfXe, AskedRequest, NamedObject};
pub use observe::coverage::{Coverage, Reasons, Work as CoveredWork};
pub use observe::domain_calls::MadeCall;
pub use observe::epochs::StoreEpochs;
pub use observe::history::{AccessedLines, LineStates, Recorded, RecordedEvent};
pub use observe::incoherent::{DirtyAtSubmission, Incoherent, MadeStale};
pub use observe::log::KernelFlush;
pub use observe::refusals::RefusedRequest;
pub use observe::trace_event::{FlushKind, FoundLine, Instruction, TraceEvent, Traced};
pub use process::files::{FileKind, OpenFile, ProgramFiles};
pub use sync::eventfd::{EventFile, deliver_events};

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, MutexGuard};

use display::DisplayEngine;
use display::masters::Client;
use gem_coherency::backend::Param;
use gem_coherency::device::Device;
use gem_coherency::error::Result;
use gem_coherency::fork::Confined;
use gem_coherency::platform::{EngineClass, Machine};
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::sync::Mutex;
use gpu::{Gpu, Pace};
use kernel::objects::handles::Handles;
use kernel::objects::system::System;
use kernel::spaces::space::{Space, address_space};
use kernel::spec::Spec;
use requests::{Contexts, Tables};
use sync::syncobj::Syncobjs;

/// Links the software device, so that [`Device::open`] can open `sim:...`.
pub fn link() {
    gem_coherency::device::link_soft(|name| Ok(Arc::new(SimDevice::open(name)?)));
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
/// [`SimDevice::open_again`].
#[derive(Debug)]
pub struct SimDevice {
    name: String,
    system: Arc<System>,
    gpu: Arc<Gpu>,
    display: Arc<DisplayEngine>,
    own: Confined<Own>,
    mappings: Arc<AtomicU64>,
    minor: Minor,
    /// The hangs of the file's contexts.
    hangs: Arc<gpu::Client>,
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
    /// The VMs and queues of xe.
    tables: Mutex<Tables>,
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

impl SimDevice {
    /// Opens the device described by `name`, such as `sim:jsl` or `sim:jsl,kernel=6.1,seed=7`.
    ///
    /// Options after the platform:
    /// - `driver=i915|xe`: the kernel driver; that of the platform by default, i915 where both have it. Devices of xe are for programs.
    /// - `kernel=X.Y`: the kernel version; 6.12 by default, 7.2 for xe.
    /// - `edram=0|1`: 1 on Haswell by default, else 0.
    /// - `adversary=on|off`, `seed=N`: spontaneous cache activity; off by default.
    /// - `memory=cached|coherent`: `coherent` makes every agent see every byte at once, as under emulation;
    ///   `cached` by default.
    /// - `gpu=instant|timed`: `timed` lets batches take time: engines run beside each other, and a batch that polls
    ///   memory runs until a program ends it, or the kernel does ([`SimDevice::set_gpu_times`]); `instant` by default.
    /// - `selfsnoop=on|off`: whether the CPU looks its own caches up at accesses of programs through WC mappings; by default,
    ///   as Linux takes the CPU of the platform. `off` is refused where i915 relies on it: with an LLC, and on Meteor Lake.
    /// - `display=on|off`: whether the display is present or fused off; off by default where a fuse exists.
    /// - `vram=SIZE`: the local memory of a discrete device of xe, for example `256M`; 8 GiB by default.
    /// - `without=RULE`: a kernel that lacks a rule; under xe one of [`gem_coherency::xe::Rule`].
    /// - `drop=ASSUMPTION`: hardware for which an assumption of [`gem_coherency_memory_model::Assumption`] does not hold.
    /// - `hang=TIME`: the time after which a thread of a shader never ends ([`GpuTimes::thread`]).
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
        let pace = if spec.timed { Pace::Timed } else { Pace::Instant };
        let times = GpuTimes { thread: spec.hang, ..GpuTimes::default() };
        let gpu = Arc::new(Gpu::new(&system, pace, times));
        sync::progress::register(&gpu);
        let display = Arc::new(DisplayEngine::new(&system));
        Ok(Self::on((system, gpu, display), name, Minor::Primary, Client::default()))
    }

    /// Opens the same device again, as another file with its own handles to the same objects.
    ///
    /// If the primary node has no master, the new file becomes its master.
    pub fn open_again(&self, minor: Minor) -> Self {
        let client = match minor {
            Minor::Primary => self.display.masters().open(),
            Minor::Render => Client::default(),
        };
        let parts = (Arc::clone(&self.system), Arc::clone(&self.gpu), Arc::clone(&self.display));
        Self::on(parts, &self.name, minor, client)
    }

    fn on(
        (system, gpu, display): (Arc<System>, Arc<Gpu>, Arc<DisplayEngine>),
        name: &str,
        minor: Minor,
        client: Client,
    ) -> Self {
        let number = system.accounting.open();
        let own = Own {
            number,
            handles: Mutex::default(),
            client: Mutex::new(client),
            contexts: Mutex::new(Contexts::new(first_space(system.machine))),
            tables: Mutex::default(),
            syncobjs: Mutex::default(),
            framebuffers: Mutex::default(),
        };
        let own = Confined::new(own);
        Self {
            name: name.to_owned(),
            system,
            gpu,
            display,
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

    /// Returns the device of xe that it simulates; `None` for one of i915.
    pub fn xe(&self) -> Option<gem_coherency::xe::Device> {
        self.system.xe.map(|kernel| kernel.device)
    }

    /// Returns the classes of its engines, each once, with the number of the GT under xe.
    pub fn engine_classes(&self) -> Vec<(u16, EngineClass)> {
        let gt = |engine| requests::xe::queue::gt_of(self.system.machine, engine);
        let mut classes: Vec<_> =
            self.engines().into_iter().map(|engine| (gt(engine), engine.class)).collect();
        classes.dedup();
        classes
    }

    /// Returns its PCI ID and its PCI revision.
    pub fn pci_id(&self) -> (u16, u8) {
        (self.system.hardware.id, self.system.hardware.revision)
    }

    /// Returns the rules of its kernel.
    pub fn rules(&self) -> KernelRules {
        self.system.rules
    }

    /// Returns whether the file is the device's master.
    fn is_master(&self) -> bool {
        self.display.masters().is_current(&self.client())
    }

    /// Locks the file's master state; locked after the masters where both are.
    fn client(&self) -> MutexGuard<'_, Client> {
        self.own.client.lock()
    }

    /// Locks the ids of the framebuffers that the file created, newest first; no other lock is taken under
    /// it.
    fn own_framebuffers(&self) -> MutexGuard<'_, Vec<u32>> {
        self.own.framebuffers.lock()
    }

    /// Locks the file's syncobjs; no other lock is taken under it.
    fn syncobjs(&self) -> MutexGuard<'_, Syncobjs> {
        self.own.syncobjs.lock()
    }

    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.own.handles.lock()
    }
}

/// Creates the address space of a file's default context, where contexts have their own.
fn first_space(machine: Machine) -> Option<Arc<Mutex<Space>>> {
    machine.has_full_ppgtt().then(|| address_space(machine))
}

impl Drop for SimDevice {
    fn drop(&mut self) {
        if !self.own.is_here() {
            // Another thread of the parent may have been changing the device at the fork.
            std::mem::forget((Arc::clone(&self.system), Arc::clone(&self.gpu), Arc::clone(&self.display)));
            return;
        }
        for id in std::mem::take(&mut *self.own_framebuffers()) {
            // drm_fb_release ignores errors.
            let _ = self.display.remove_framebuffer(id);
        }
        self.release_display();
        let client = self.own.client.get_mut();
        self.display.masters().release(client);
        self.close_contexts();
        self.tables().close();
        if self.system.accounting.close() {
            self.gpu.abandon();
        }
    }
}
