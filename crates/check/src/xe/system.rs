//! The steps of users and of the caches, and what a driver does before an access.

use std::fmt;

use super::change::{Change, Condition, User};
use super::kernel::Kernel;
use super::memory::{Copies, Pat, Way};
use crate::states::state::Value;
use gem_coherency::vocabulary::{Access, Agent, words};
use gem_coherency::xe::{CpuCaching, CreateFlags, Decision, Rule, Verdict, When};

words! {
    /// What caches and buffers do at any time.
    CacheMove, "cache move" {
        /// The CPU's caches evict the line.
        CpuEvicts = "the CPU's caches evict the line",
        /// They prefetch it.
        CpuFills = "the CPU's caches fill the line",
        /// The GPU's cache evicts the line.
        GpuEvicts = "the GPU's cache evicts the line",
        /// The write-combining buffers drain.
        Drains = "the write-combining buffers drain",
        /// A store arrives at the device.
        Arrives = "a store arrives at the device",
    }
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// VM_BIND of the memory by a PAT index, after the fence.
    Bind(u16),
    /// MADVISE of the mapping with a PAT index, after the fence.
    Madvise(u16),
    /// The object becomes a framebuffer.
    Framebuffer,
    /// The CPU accesses the line.
    Cpu(Access, When),
    /// A batch accesses the line: a new one, or the one that runs.
    Gpu(Access, When),
    /// The display shows the object.
    Show,
    /// The kernel moves the object between local and system memory.
    Move,
    /// The caches move.
    Cache(CacheMove),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let during = |when: When| if when == When::InBatch { " while the batch runs" } else { "" };
        match *self {
            Self::Bind(index) => write!(f, "VM_BIND by PAT index {index}"),
            Self::Madvise(index) => write!(f, "MADVISE with PAT index {index}"),
            Self::Framebuffer => f.write_str("the object becomes a framebuffer"),
            Self::Cpu(access, when) => write!(f, "the CPU {access}s{}", during(when)),
            Self::Gpu(access, When::AfterFence) => write!(f, "a batch {access}s"),
            Self::Gpu(access, When::InBatch) => write!(f, "the same batch {access}s"),
            Self::Show => f.write_str("the display shows the object"),
            Self::Move => f.write_str("the kernel moves the object"),
            Self::Cache(moves) => f.write_str(moves.name()),
        }
    }
}

/// The last writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writer {
    /// The CPU; at first the kernel's zeroes.
    Cpu,
    /// The GPU, by a PAT index.
    Gpu(u16),
}

/// A state of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The copies of the line.
    pub copies: Copies,
    /// The PAT index of the mapping.
    pub mapping: Option<u16>,
    /// A batch runs.
    pub running: bool,
    /// The object is a framebuffer.
    pub framebuffer: bool,
    /// The last writer.
    pub writer: Writer,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The state afterwards.
    pub after: State,
    /// What an agent read.
    pub read: Option<Value>,
    /// What the rules require of the driver before the access.
    pub required: Option<Decision>,
}

/// The memory, the kernel and the user of one search.
#[derive(Clone, Debug)]
pub(super) struct System {
    kernel: Kernel,
    user: User,
    /// Every step.
    pub(super) steps: Vec<Step>,
}

impl System {
    pub(super) fn new(kernel: Kernel, user: User) -> Self {
        use Access::{Read, Write};
        let mut seen = Vec::new();
        let mut steps = Vec::new();
        for (index, entry) in kernel.device.pat.indices().filter(|(_, entry)| !entry.compressed) {
            let pat = Pat::from(entry);
            // One index stands for all that are alike.
            if !seen.contains(&pat) {
                seen.push(pat);
                steps.extend([Step::Bind(index), Step::Madvise(index)]);
            }
        }
        for when in [When::AfterFence, When::InBatch] {
            for access in [Read, Write] {
                steps.extend([Step::Cpu(access, when), Step::Gpu(access, when)]);
            }
        }
        steps.extend([Step::Framebuffer, Step::Show, Step::Move]);
        steps.extend(CacheMove::ALL.iter().map(|&moves| Step::Cache(moves)));
        Self { kernel, user, steps }
    }

    /// Returns the state of new memory.
    pub(super) fn first(&self) -> State {
        State {
            copies: self.kernel.allocate(),
            mapping: None,
            running: false,
            framebuffer: false,
            writer: Writer::Cpu,
        }
    }

    /// Makes a step; `None` if it is not possible.
    pub(super) fn apply(&self, before: &State, step: Step) -> Option<Done> {
        let mut state = *before;
        let (mut read, mut required) = (None, None);
        match step {
            Step::Bind(index) => {
                self.wait(&mut state);
                state.mapping = self.kernel.binds(index).then_some(index);
                state.mapping?;
            }
            Step::Madvise(index) => {
                state.mapping.filter(|_| self.kernel.advises(index))?;
                self.wait(&mut state);
                state.mapping = Some(index);
            }
            Step::Framebuffer => state.framebuffer = self.can_be_shown(&state).then_some(true)?,
            Step::Cpu(access, when) => {
                self.wait_until(&mut state, when)?;
                required = self.prepare(&mut state, Agent::Cpu, when)?;
                let (hardware, way) = (self.kernel.hardware, self.way(&state));
                if access == Access::Read {
                    read = Some(state.copies.cpu_load(hardware, way));
                } else {
                    state.copies.cpu_store(hardware, way);
                    state.writer = Writer::Cpu;
                }
            }
            Step::Gpu(access, when) => {
                let index = state.mapping?;
                let pat = Pat::from(self.kernel.device.pat.entry(index).ok()?);
                self.wait_until(&mut state, when)?;
                required = self.prepare(&mut state, Agent::Gpu, when)?;
                match when {
                    When::AfterFence => self.kernel.start_batch(&mut state.copies),
                    When::InBatch if self.keeps(Condition::InvalidateInBatch) => {
                        state.copies.invalidate_gpu()
                    }
                    When::InBatch => {}
                }
                state.running = true;
                if access == Access::Read {
                    read = Some(state.copies.gpu_load(self.kernel.hardware, pat));
                } else {
                    state.copies.gpu_store(self.kernel.hardware, pat);
                    state.writer = Writer::Gpu(index);
                }
            }
            Step::Show => {
                state.framebuffer.then_some(())?;
                self.wait(&mut state);
                self.move_to(&mut state, self.kernel.may_be_local());
                required = self.prepare(&mut state, Agent::Display, When::AfterFence)?;
                self.kernel.flip(&mut state.copies);
                read = Some(state.copies.memory);
            }
            Step::Move => {
                self.kernel.may_be_local().then_some(())?;
                self.wait(&mut state);
                let local = state.copies.local;
                self.move_to(&mut state, !local);
            }
            Step::Cache(moves) => self.move_caches(&mut state, moves),
        }
        Some(Done { after: state, read, required })
    }

    fn keeps(&self, condition: Condition) -> bool {
        !self.kernel.lacks(Change::Condition(condition))
    }

    /// Waits for the fence of the batch that runs.
    fn wait(&self, state: &mut State) {
        if state.running {
            state.running = false;
            self.kernel.end_batch(&mut state.copies);
        }
    }

    /// Waits, unless the access is one while a batch runs.
    fn wait_until(&self, state: &mut State, when: When) -> Option<()> {
        match when {
            When::AfterFence => self.wait(state),
            When::InBatch => state.running.then_some(())?,
        }
        Some(())
    }

    /// Moves the object by a batch of the copy engine, after its mappings are gone: that drains the CPU's stores.
    fn move_to(&self, state: &mut State, local: bool) {
        if state.copies.local != local {
            let way = self.way(state);
            state.copies.drain(self.kernel.hardware, way);
            self.kernel.start_batch(&mut state.copies);
            state.copies.move_by_copy(local);
        }
    }

    /// Returns whether the object can become a framebuffer (`xe_display_bo_framebuffer_init`, `xe_display_bo_framebuffer_lookup`).
    fn can_be_shown(&self, state: &State) -> bool {
        let platform = self.kernel.device.platform;
        self.kernel.object.is_some_and(|object| {
            let created = object.flags.contains(CreateFlags::SCANOUT);
            let may_be = created || object.is_import() || state.mapping.is_none();
            let kept = created || self.user == User::Driver || !self.keeps(Condition::ShowScanout);
            platform.has_display && may_be && kept && (!platform.discrete || self.kernel.may_be_local())
        })
    }

    /// Returns the way of the CPU's accesses. The pages of a discrete device's objects are write-back in system memory.
    fn way(&self, state: &State) -> Way {
        let combining = self.kernel.object.is_some_and(|object| object.caching == Some(CpuCaching::Wc));
        match (combining, state.copies.local) {
            (true, true) => Way::Bar,
            (true, false) if !self.kernel.device.platform.discrete => Way::Combining,
            (true | false, _) => Way::Cached,
        }
    }

    /// Does what a driver must do before `next` accesses the line; `None` if it makes no such access.
    fn prepare(&self, state: &mut State, next: Agent, when: When) -> Option<Option<Decision>> {
        if self.user == User::Hostile {
            return Some(None);
        }
        let (writer, index) = match state.writer {
            Writer::Cpu => (Agent::Cpu, state.mapping.unwrap_or(self.kernel.device.pat.own.none)),
            Writer::Gpu(index) => (Agent::Gpu, index),
        };
        let decision = self.kernel.device.needs_flush(self.kernel.memory(), index, writer, next, when);
        if self.kernel.lacks(Change::Rule(decision.rule)) {
            return Some(Some(decision));
        }
        let hardware = self.kernel.hardware;
        match decision.verdict {
            Verdict::NotNeeded => {}
            Verdict::Drain => {
                let way = self.way(state);
                state.copies.drain(hardware, way);
                if when == When::InBatch && self.keeps(Condition::BarrierPage) {
                    state.copies.arrive(hardware);
                }
            }
            Verdict::Flush => state.copies.flush_cpu(),
            Verdict::FlushGpu => state.copies.write_back_gpu(hardware),
            // A change made the mapping possible, of which the rules know nothing.
            Verdict::Refused
                if decision.rule == Rule::CannotBeBound && !self.kernel.unchanged().maps(index) => {}
            Verdict::Refused => return None,
        }
        Some(Some(decision))
    }

    fn move_caches(&self, state: &mut State, moves: CacheMove) {
        let (hardware, way) = (self.kernel.hardware, self.way(state));
        match moves {
            CacheMove::CpuEvicts => state.copies.flush_cpu(),
            CacheMove::CpuFills if way == Way::Cached => {
                state.copies.cpu_load(hardware, way);
            }
            CacheMove::CpuFills => {}
            CacheMove::GpuEvicts => state.copies.evict_gpu(hardware),
            CacheMove::Drains => state.copies.drain(hardware, way),
            CacheMove::Arrives => state.copies.arrive(hardware),
        }
    }
}
