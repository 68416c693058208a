//! The copies of one line, and how each agent reaches them. It knows the hardware and the PAT entries, and none of the driver's rules.
//!
//! Read, and not measured, where nothing else is said:
//!
//! * With an LLC every access of the GPU to system memory looks up the LLC, whatever the PAT index; a write-back index leaves its writes there.
//! * A discrete GPU's accesses to system memory snoop, whatever the PAT index. Nothing makes its accesses to local memory snoop.
//! * An L3 miss and a write-back by an index that does not snoop go past the CPU's caches. Before graphics version 20 no PAT field says whether
//!   the L3 keeps a line of Meteor Lake: it may.
//! * From graphics version 20 on the L2 of a discrete GPU is in front of local memory for every agent but the display, also for the PCI bar.
//! * A write-combining load of the CPU does not find lines in its caches without an LLC.

use crate::states::state::Value;
use gem_coherency::xe::{CachePolicy, Device, PatCoherency, PatEntry};
use serde::Serialize;

/// How the GPU caches and snoops by a PAT index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Pat {
    /// The coherency with the CPU's caches.
    pub coherency: PatCoherency,
    /// The policy of the L3.
    pub l3: CachePolicy,
}

impl From<&PatEntry> for Pat {
    fn from(entry: &PatEntry) -> Self {
        // MOCS decides where the entry has no policy: at worst it is write-back.
        Self { coherency: entry.coherency, l3: entry.l3.unwrap_or(CachePolicy::Wb) }
    }
}

impl Pat {
    fn is_two_way(self) -> bool {
        self.coherency == PatCoherency::TwoWay
    }
}

/// The line in the CPU's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CpuLine {
    /// Its bytes.
    pub value: Value,
    /// They are not in memory.
    pub dirty: bool,
}

/// The line in the GPU's L3, or in the L2 of a discrete device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct GpuLine {
    /// Its bytes.
    pub value: Value,
    /// They are not in memory.
    pub dirty: bool,
    /// The entry by which it was filled or written.
    pub pat: Pat,
}

/// The way of the CPU's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Through its caches.
    Cached,
    /// By its write-combining buffers.
    Combining,
    /// The same, and by the PCI bar.
    Bar,
}

/// The copies of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Copies {
    /// The pages are in local memory.
    pub local: bool,
    /// Memory.
    pub memory: Value,
    /// The CPU's caches; with an LLC those that the GPU looks up, too.
    pub cpu: Option<CpuLine>,
    /// A store in the CPU's write-combining buffers.
    pub combining: Option<Value>,
    /// A store on its way to the device.
    pub bus: Option<Value>,
    /// The GPU's cache.
    pub gpu: Option<GpuLine>,
}

/// What decides about the way of an access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hardware {
    llc: bool,
    discrete: bool,
    l2_before_memory: bool,
}

impl Hardware {
    pub(super) fn of(device: &Device) -> Self {
        let discrete = device.platform.discrete;
        let l2_before_memory = discrete && device.graphics.major >= 20;
        Self { llc: device.platform.has_llc(), discrete, l2_before_memory }
    }

    /// Returns whether the GPU's cache holds what the bar reads.
    pub(super) fn bar_sees_l2(self, copies: &Copies) -> bool {
        self.l2_before_memory && copies.local
    }

    fn snoops(self, copies: &Copies, pat: Pat) -> bool {
        !copies.local && (self.discrete || self.llc || pat.coherency.snoops())
    }
}

impl Copies {
    /// Returns pages with these bytes and no other copy.
    pub(super) const fn in_memory(local: bool, memory: Value) -> Self {
        Self { local, memory, cpu: None, combining: None, bus: None, gpu: None }
    }

    /// Makes each newest copy an old one: a store follows.
    fn age(&mut self) {
        let cached = [self.cpu.as_mut().map(|it| &mut it.value), self.gpu.as_mut().map(|it| &mut it.value)];
        let waiting = [self.combining.as_mut(), self.bus.as_mut(), Some(&mut self.memory)];
        for copy in cached.into_iter().chain(waiting).flatten().filter(|it| **it == Value::Newest) {
            *copy = Value::Old;
        }
    }

    /// Loads the line by the CPU.
    pub(super) fn cpu_load(&mut self, hardware: Hardware, way: Way) -> Value {
        self.drain(hardware, way);
        self.arrive(hardware);
        self.snoop_gpu(hardware);
        match way {
            Way::Cached => {
                let value = self.memory;
                self.cpu.get_or_insert(CpuLine { value, dirty: false }).value
            }
            Way::Bar if let Some(line) = self.gpu.filter(|_| hardware.bar_sees_l2(self)) => line.value,
            Way::Combining if let Some(line) = self.cpu.filter(|_| hardware.llc) => line.value,
            Way::Combining | Way::Bar => self.memory,
        }
    }

    /// Stores the line by the CPU.
    pub(super) fn cpu_store(&mut self, hardware: Hardware, way: Way) {
        self.age();
        match way {
            Way::Cached => {
                self.snoop_gpu(hardware);
                self.cpu = Some(CpuLine { value: Value::Newest, dirty: true });
            }
            Way::Combining | Way::Bar => self.combining = Some(Value::Newest),
        }
    }

    /// Drains the CPU's write-combining buffers.
    pub(super) fn drain(&mut self, hardware: Hardware, way: Way) {
        let Some(value) = self.combining.take() else { return };
        if way == Way::Bar {
            self.bus = Some(value);
            return;
        }
        self.snoop_gpu(hardware);
        if hardware.llc {
            self.cpu = None;
        }
        self.memory = value;
    }

    /// Lets stores on their way arrive at the device.
    pub(super) fn arrive(&mut self, hardware: Hardware) {
        let Some(value) = self.bus.take() else { return };
        if hardware.bar_sees_l2(self) {
            self.gpu = None;
        }
        self.memory = value;
    }

    /// Makes the GPU give up a line of 2-way coherency, which an access of the CPU finds.
    fn snoop_gpu(&mut self, hardware: Hardware) {
        if self.gpu.is_some_and(|line| line.pat.is_two_way()) {
            self.evict_gpu(hardware);
        }
    }

    /// Loads the line by the GPU.
    pub(super) fn gpu_load(&mut self, hardware: Hardware, pat: Pat) -> Value {
        if let Some(line) = self.gpu {
            return line.value;
        }
        let snooped = self.cpu.filter(|_| hardware.snoops(self, pat));
        let value = snooped.map_or(self.memory, |line| line.value);
        if !matches!(pat.l3, CachePolicy::Uc | CachePolicy::Wc) {
            self.gpu = Some(GpuLine { value, dirty: false, pat });
        }
        value
    }

    /// Stores the line by the GPU.
    pub(super) fn gpu_store(&mut self, hardware: Hardware, pat: Pat) {
        self.age();
        let value = Value::Newest;
        match pat.l3 {
            CachePolicy::Wb | CachePolicy::Xd | CachePolicy::Xa => {
                // The GPU takes the line before it writes: the CPU writes its bytes back.
                if pat.is_two_way() && hardware.snoops(self, pat) {
                    self.flush_cpu();
                }
                self.gpu = Some(GpuLine { value, dirty: true, pat });
            }
            CachePolicy::Wt | CachePolicy::Wc | CachePolicy::Uc => {
                let kept = pat.l3 == CachePolicy::Wt;
                self.gpu = kept.then_some(GpuLine { value, dirty: false, pat });
                self.write_past(hardware, pat, value);
            }
        }
    }

    /// Writes bytes from the GPU's cache, or past it.
    fn write_past(&mut self, hardware: Hardware, pat: Pat, value: Value) {
        let snoops = hardware.snoops(self, pat);
        if snoops && hardware.llc && pat.l3 == CachePolicy::Wb {
            self.cpu = Some(CpuLine { value, dirty: true });
            return;
        }
        if snoops {
            self.cpu = None;
        }
        self.memory = value;
    }

    /// Writes the GPU's line back if it is dirty; the GPU keeps it.
    pub(super) fn write_back_gpu(&mut self, hardware: Hardware) {
        if let Some(line @ GpuLine { value, dirty: true, pat }) = self.gpu {
            self.gpu = Some(GpuLine { dirty: false, ..line });
            self.write_past(hardware, pat, value);
        }
    }

    /// Drops the GPU's line if it is clean.
    pub(super) fn invalidate_gpu(&mut self) {
        self.gpu = self.gpu.filter(|line| line.dirty);
    }

    /// Writes the GPU's line back if it is dirty, and drops it.
    pub(super) fn evict_gpu(&mut self, hardware: Hardware) {
        self.write_back_gpu(hardware);
        self.gpu = None;
    }

    /// Writes the CPU's line back if it is dirty, and drops it.
    pub(super) fn flush_cpu(&mut self) {
        if let Some(CpuLine { value, dirty: true }) = self.cpu.take() {
            self.memory = value;
        }
    }

    /// Moves the bytes between local and system memory by the copy engine, which snoops, and looks up its own cache.
    pub(super) fn move_by_copy(&mut self, local: bool) {
        let cpu = self.cpu.filter(|_| !self.local).map(|line| line.value);
        let value = self.gpu.map(|line| line.value).or(cpu).unwrap_or(self.memory);
        *self = Self::in_memory(local, value);
    }
}
