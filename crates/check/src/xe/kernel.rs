//! The kernel: what it refuses, as [`Device`] says, and what it clears and flushes.

use super::change::{Change, Kind, SIZE, Work};
use super::memory::{Copies, CpuLine, Hardware};
use crate::states::state::Value;
use gem_coherency::xe::{
    Bind, BindFlags, BindOp, Bound, CachePolicy, CpuCaching, Device, LOCAL, Memory, Object, Refusal, Rule,
};

/// The kernel with one device and one piece of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pub(super) device: Device,
    pub(super) hardware: Hardware,
    pub(super) kind: Kind,
    /// `None` for the process's own pages.
    pub(super) object: Option<Object>,
    pub(super) change: Option<Change>,
}

impl Kernel {
    /// Returns the kernel, unless it refuses to create the object.
    pub(super) fn new(device: Device, kind: Kind, change: Option<Change>) -> Option<Self> {
        let hardware = Hardware::of(&device);
        let kernel = Self { device, hardware, kind, object: None, change };
        let object = match (kind, kind.create()) {
            (_, Some(create)) => match device.create(&create) {
                Ok(object) => Some(object),
                Err(Refusal { rule: rule @ (Rule::LocalIsWc | Rule::ScanoutIsWc), .. })
                    if kernel.lacks(Change::Rule(rule)) =>
                {
                    let caching =
                        CpuCaching::ALL.iter().copied().find(|it| it.number() == create.cpu_caching);
                    Some(Object { caching, size: SIZE, placement: create.placement, flags: create.flags })
                }
                Err(_) => return None,
            },
            (Kind::Import, None) => Some(Object::imported(SIZE)),
            (_, None) => None,
        };
        Some(Self { object, ..kernel })
    }

    /// Returns the kernel as it is.
    pub(super) fn unchanged(&self) -> Self {
        Self { change: None, ..*self }
    }

    /// Returns whether a request accepts the index.
    pub(super) fn maps(&self, pat_index: u16) -> bool {
        self.binds(pat_index) || self.advises(pat_index)
    }

    pub(super) fn lacks(&self, change: Change) -> bool {
        self.change == Some(change)
    }

    fn does(&self, work: Work) -> bool {
        !self.lacks(Change::Work(work))
    }

    /// Returns the memory for the driver's rules.
    pub(super) fn memory(&self) -> Memory<'_> {
        self.object.as_ref().map_or(Memory::Process, Memory::Object)
    }

    /// Returns whether the object may be in local memory.
    pub(super) fn may_be_local(&self) -> bool {
        self.object.is_some_and(|object| object.placement & LOCAL != 0)
    }

    /// Returns the line of new memory.
    pub(super) fn allocate(&self) -> Copies {
        let mut copies = Copies::in_memory(self.may_be_local(), Value::Secret);
        if !self.does(Work::Clear) {
            return copies;
        }
        if copies.local {
            copies.memory = Value::Newest;
            return copies;
        }
        copies.cpu = Some(CpuLine { value: Value::Newest, dirty: true });
        let combining = self.object.is_some_and(|object| object.caching == Some(CpuCaching::Wc));
        if combining && !self.device.platform.discrete && self.does(Work::CpaFlush) {
            copies.flush_cpu();
        }
        copies
    }

    /// Returns whether VM_BIND accepts the index. The address space has page faults, so that it accepts every kind.
    pub(super) fn binds(&self, pat_index: u16) -> bool {
        let bind = match (&self.object, self.kind) {
            (Some(object), _) => Bind::map(object, 0, pat_index),
            (None, Kind::Mirror) => {
                let flags = BindFlags::CPU_ADDR_MIRROR;
                Bind { flags, ..Bind::bare(BindOp::Map, 0, SIZE, pat_index) }
            }
            (None, _) => Bind::userptr(0, 0, SIZE, pat_index),
        };
        self.accepts(self.device.bind(&[bind], true).map_err(|(_, refusal)| refusal.rule), false)
    }

    /// Returns whether MADVISE accepts the index for the mapping, which it keeps: the address space has page faults.
    pub(super) fn advises(&self, pat_index: u16) -> bool {
        let bound = [self.object.as_ref().map_or(Bound::Process, Bound::Object)];
        let answer = self.device.madvise_pat(0, SIZE, pat_index, false, &bound);
        self.accepts(answer.map_err(|refusal| refusal.rule), !self.does(Work::MadviseCheck))
    }

    fn accepts(&self, answer: Result<(), Rule>, without_snoop_checks: bool) -> bool {
        let Err(rule) = answer else { return true };
        let shared = matches!(rule, Rule::ImportNotSnooped | Rule::UserptrNotSnooped);
        // Version 35 has a second check of shared pages, which refuses the same indices.
        if shared && self.device.is_l2_flush_optimized() {
            return false;
        }
        let of_snooping = shared || rule == Rule::CachedNotSnooped;
        self.lacks(Change::Rule(rule)) || of_snooping && without_snoop_checks
    }

    /// Starts a batch. The request orders earlier stores to the device.
    pub(super) fn start_batch(&self, copies: &mut Copies) {
        copies.arrive(self.hardware);
        if self.does(Work::StartInvalidate) {
            copies.invalidate_gpu();
        }
    }

    /// Ends a batch.
    pub(super) fn end_batch(&self, copies: &mut Copies) {
        let stays = self.hardware.bar_sees_l2(copies);
        let transient_only = self.device.is_l2_flush_optimized();
        let covered = |policy| !transient_only || policy == CachePolicy::Xa;
        if self.does(Work::EndFlush) && !stays && copies.gpu.is_some_and(|line| covered(line.pat.l3)) {
            copies.write_back_gpu(self.hardware);
        }
    }

    /// Prepares what the display shows. Version 35 flushes its transient lines by itself.
    pub(super) fn flip(&self, copies: &mut Copies) {
        copies.arrive(self.hardware);
        let graphics = self.device.graphics;
        let flushes = graphics.major >= 35 || self.does(Work::FlipFlush) && self.hardware.bar_sees_l2(copies);
        let all = graphics.major == 20 && graphics.minor == 1;
        if flushes && copies.gpu.is_some_and(|line| all || line.pat.l3 == CachePolicy::Xd) {
            copies.write_back_gpu(self.hardware);
        }
    }
}
