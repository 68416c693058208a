//! The transition system: every action from a state, and the properties of the resulting state.

use gem_coherency::Errno;

use crate::premises::mutant::Mutation;
use crate::premises::setting::{Caller, Setting};
use crate::property::Property;
use crate::states::kernel::Object;
use crate::states::memory::Memory;
use crate::states::state::{Buffer, GRANULES, LINES, State, Value, Window};
use crate::states::tracked::{InFlight, LineSet};
use crate::steps::actions::{self, Action};
use crate::steps::decisions::DecisionTable;
use crate::steps::log::{Log, LoggedAction};
use gem_coherency::cacheops::LineOp;
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::{CONSERVATIVE, Call, Caps};
use gem_coherency::policy::Rule;
use gem_coherency::policy::driver::{Path, path_refusal};
use gem_coherency::policy::kernel::{Action as KernelAction, Backing, Creation, Event, Snapshot};
use gem_coherency::vocabulary::{CacheLevel, MmapMode};
use gem_coherency_memory_model::Line;

/// The reason why an action does not lead to a state for the search to continue from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The action is impossible in this state.
    Impossible,
    /// The action breaks a property; with the resulting state.
    Broken(Property, State),
}

/// The flushes around a copy by the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AroundCopy {
    pub(crate) before: bool,
    pub(crate) after: bool,
}

/// Returns the capabilities that a caller believes the device to have.
fn believed(caller: Caller, caps: Caps) -> Caps {
    match caller {
        Caller::Unknown => CONSERVATIVE.caps,
        Caller::Protocol | Caller::Library | Caller::Hostile => caps,
    }
}

/// One object in one setting.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) setting: Setting,
    pub(crate) kernel: Object,
    pub(crate) memory: Memory,
    actions: Vec<Action>,
    map_modes: Vec<MmapMode>,
    /// The policy's results for the capabilities that the caller believes the device to have.
    pub(crate) decisions: DecisionTable,
    /// The policy's results for the actual capabilities.
    pub(crate) facts: DecisionTable,
}

impl System {
    /// Returns whether the machine has objects of that kind.
    pub(crate) fn exists(setting: &Setting) -> bool {
        let Setting { machine, rules, creation, .. } = setting;
        let refused = *creation == Creation::Userptr && machine.refusal(Call::Userptr).is_some();
        !refused && Snapshot::created(machine.caps, rules, *creation).is_ok()
    }

    /// Creates the system of `setting`.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] if the machine has no such objects; those of [`Object::new`].
    pub(crate) fn new(setting: Setting) -> Result<Self> {
        let Setting { machine, rules, creation, caller, mutation, .. } = setting;
        let first =
            Snapshot::created(machine.caps, &rules, creation).map_err(|refusal| Error::NotAvailable {
                what: format!("an object created as {creation:?}"),
                platform: machine.platform.name,
                why: refusal.rule.reason(),
                errno: refusal.errno.unwrap_or(Errno::EINVAL),
            })?;
        let copies = machine.refusal(Call::PreadPwrite).is_none();
        let refuses = |event| !copies && matches!(event, Event::Pread | Event::Pwrite { .. });
        let tells_age = caller != Caller::Hostile;
        let mut system = Self {
            setting,
            kernel: Object::new(machine.caps, &rules, first, mutation, refuses)?,
            memory: Memory { hardware: setting.hardware(), tells_age, mutation },
            actions: Vec::new(),
            map_modes: Vec::new(),
            decisions: DecisionTable::new(believed(caller, machine.caps), mutation),
            facts: DecisionTable::new(machine.caps, mutation),
        };
        system.map_modes = actions::map_modes(&system);
        system.actions = Action::all(&system);
        Ok(system)
    }

    /// Returns the first state of a search.
    pub(crate) fn first(&self, log: &mut impl Log) -> State {
        let mut state = State::new([Value::Newest; GRANULES], 0);
        if self.backing() == Backing::Import {
            // The exporter's pages exist, zeroed through the CPU's cache.
            self.memory.fill_pages(&mut state);
            state.resident = true;
        }
        let (tracked, distrust) = self.first_tracked();
        state.tracked = tracked;
        if let Some(decision) = distrust {
            log.record(LoggedAction::Library(decision, tracked.dirty.count()));
        }
        state
    }

    /// Returns every action that may be possible.
    pub(crate) fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Makes an action, and checks the resulting state.
    pub(crate) fn apply(&self, state: &State, step: Action, log: &mut impl Log) -> Result<State, Stop> {
        let next = self.act(state, step, log)?;
        self.check(&next).map_err(|property| Stop::Broken(property, next))?;
        Ok(next)
    }

    /// Makes an action. The resulting state is not checked: [`System::check`] once for each state is enough.
    pub(crate) fn act(&self, state: &State, step: Action, log: &mut impl Log) -> Result<State, Stop> {
        let mut next = *state;
        match step {
            Action::CacheMove(cache_move, line) if next.resident => {
                self.memory.cache_move(&mut next, cache_move, line).ok_or(Stop::Impossible)?;
            }
            Action::CacheMove(..) => return Err(Stop::Impossible),
            Action::Drain(buffer, granule) => {
                let level = self.level(&next);
                self.memory.drain_store(&mut next, level, buffer, granule).ok_or(Stop::Impossible)?;
            }
            Action::Complete if next.in_flight == InFlight::NOTHING => return Err(Stop::Impossible),
            Action::Complete => {
                let InFlight { lines, op } = next.in_flight;
                self.memory.maintain(&mut next, lines, op);
                next.in_flight = InFlight::NOTHING;
            }
            Action::Reuse => self.reuse(&mut next)?,
            Action::HandOver => self.hand_over(&mut next, log)?,
            Action::Load(line) => self.load_in_window(&mut next, line, log)?,
            Action::Store(granule) => self.store_in_window(&mut next, granule, log)?,
            Action::Upload(granule, way) => self.upload_by_library(&mut next, granule, way, log)?,
            Action::Touch(path, access, place) => self.touch(&mut next, path, access, place, log)?,
            Action::Open(window) => match self.setting.caller {
                Caller::Protocol => self.open_by_protocol(&mut next, window, log)?,
                Caller::Library | Caller::Unknown => self.open_by_library(&mut next, window, log)?,
                Caller::Hostile => self.open_by_hostile(&mut next, window, log)?,
            },
            Action::Call(event) => self.call(&mut next, event, log)?,
            Action::Pread(line) => self.pread(&mut next, line, log)?,
            Action::Pwrite(granule, awake) => self.pwrite(&mut next, granule, awake, log)?,
        }
        next.forget_passed();
        Ok(next)
    }

    pub(crate) fn caps(&self) -> Caps {
        self.setting.machine.caps
    }

    /// Returns whether the library uses conservative assumptions.
    pub(crate) fn is_conservative(&self) -> bool {
        self.setting.caller == Caller::Unknown
    }

    /// Returns the capabilities that the library believes the device to have.
    pub(crate) fn believed(&self) -> Caps {
        believed(self.setting.caller, self.caps())
    }

    /// Returns the level that the library believes the object to have.
    pub(crate) fn believed_level(&self, state: &State) -> CacheLevel {
        match self.setting.caller {
            Caller::Unknown => CacheLevel::None,
            Caller::Protocol | Caller::Library | Caller::Hostile => self.level(state),
        }
    }

    pub(crate) fn snapshot(&self, state: &State) -> &Snapshot {
        self.kernel.state(state.kernel)
    }

    pub(crate) fn level(&self, state: &State) -> CacheLevel {
        self.snapshot(state).level
    }

    pub(crate) fn backing(&self) -> Backing {
        self.kernel.state(0).backing
    }

    /// Returns the modes in which the caller can map the object.
    pub(crate) fn map_modes(&self) -> &[MmapMode] {
        &self.map_modes
    }

    /// Returns whether the object can be mapped in this mode and accessed at its level.
    pub(crate) fn can_map(&self, state: &State, mode: MmapMode) -> bool {
        let refusals = [
            path_refusal(self.caps(), self.level(state), Path::Cpu(mode)),
            path_refusal(self.believed(), self.believed_level(state), Path::Cpu(mode)),
        ];
        refusals.into_iter().flatten().all(|rule| self.setting.mutation.lacks(rule))
    }

    /// Applies an event to the object, with the kernel's effects.
    pub(crate) fn event(
        &self,
        state: &mut State,
        event: Event,
        log: &mut impl Log,
    ) -> Result<AroundCopy, Stop> {
        let outcome = self.kernel.outcome(state.kernel, event).ok_or(Stop::Impossible)?;
        if outcome.acquires || event == Event::Fault {
            self.bring_in(state);
        }
        let mut around = AroundCopy::default();
        for effect in &outcome.effects {
            log.record(LoggedAction::Kernel(*effect));
            match effect.action {
                // Hibernation's wbinvd comes after the pages were released.
                KernelAction::Wbinvd if outcome.releases && effect.rule == Rule::HibernateWbinvd => {}
                KernelAction::FlushSync | KernelAction::FlushAsync | KernelAction::Wbinvd => {
                    self.memory.maintain(state, LineSet::ALL, LineOp::Flush);
                }
                KernelAction::FlushBefore => around.before = true,
                KernelAction::FlushAfter => around.after = true,
                KernelAction::Barrier | KernelAction::WriteBarrier => {
                    self.drain(state, Buffer::Combining);
                    if self.caps().contains(Caps::COHERENT_GGTT) {
                        self.drain(state, Buffer::Aperture);
                    }
                }
                KernelAction::FlushGgtt | KernelAction::FlushChipset => {
                    self.drain(state, Buffer::Combining);
                    self.drain(state, Buffer::Aperture);
                }
            }
        }
        if !outcome.effects.iter().any(|effect| effect.action.is_flush()) {
            log.record(LoggedAction::KernelSpared(outcome.rule));
        }
        if outcome.releases {
            self.release(state);
        }
        state.kernel = outcome.next;
        if outcome.broken.is_some() && self.is_checked(Property::KernelInvariants) {
            return Err(Stop::Broken(Property::KernelInvariants, *state));
        }
        Ok(around)
    }

    pub(crate) fn drain(&self, state: &mut State, buffer: Buffer) {
        self.memory.drain(state, self.level(state), buffer);
    }

    /// Makes the object resident; its backing determines the contents.
    fn bring_in(&self, state: &mut State) {
        if state.resident {
            return;
        }
        state.resident = true;
        match self.backing() {
            Backing::Shmem
            | Backing::Userptr
            | Backing::LocalSystem
            | Backing::Stolen
            | Backing::Internal
            | Backing::Phys => self.memory.fill_pages(state),
            // An import's memory exists already; local memory is cleared by the GPU and never cached.
            Backing::Import | Backing::Local => {}
        }
    }

    /// Releases the pages and their memory.
    fn release(&self, state: &mut State) {
        match self.backing() {
            Backing::Shmem
            | Backing::Userptr
            | Backing::LocalSystem
            | Backing::Stolen
            | Backing::Internal
            | Backing::Phys => {
                let level = self.level(state);
                self.memory.save_pages(state, level);
                state.resident = false;
            }
            Backing::Local => {
                state.lines = [Line::Absent; LINES];
                state.resident = false;
            }
            Backing::Import => {}
        }
        if let Window::Gpu { .. } | Window::Display = state.window {
            self.close_window(state);
        }
    }

    /// Brings memory in at a first touch.
    pub(crate) fn fault(&self, state: &mut State, log: &mut impl Log) -> Result<(), Stop> {
        if !self.snapshot(state).pages {
            self.event(state, Event::Fault, log)?;
        }
        Ok(())
    }

    /// Closes the object and gives its memory to another process.
    fn hand_over(&self, state: &mut State, log: &mut impl Log) -> Result<(), Stop> {
        if self.snapshot(state).pinned {
            return Err(Stop::Impossible);
        }
        if self.snapshot(state).pages {
            self.event(state, Event::Release, log)?;
        }
        let mut next = self.first(log);
        // Operations that are still outstanding belong to the previous owner.
        next.in_flight = state.in_flight;
        for granule in 0..GRANULES {
            next.gpu[granule] = state.gpu[granule].map(|_| Value::Secret);
        }
        *state = next;
        Ok(())
    }

    /// Returns whether the search ends where a property of tracked state is broken.
    fn is_checked(&self, property: Property) -> bool {
        self.setting.ignored != Some(property)
    }

    /// Checks the properties of a state.
    ///
    /// # Errors
    /// A broken property.
    pub(crate) fn check(&self, state: &State) -> Result<(), Property> {
        if self.kernel.broken(state.kernel).is_some() && self.is_checked(Property::KernelInvariants) {
            return Err(Property::KernelInvariants);
        }
        if self.memory.tells_age && !(0..GRANULES).all(|granule| state.has_newest(granule)) {
            return Err(Property::NoLostWrite);
        }
        let checks_marks = self.guards_lines()
            && self.setting.mutation == Mutation::None
            && self.is_checked(Property::Marked);
        if checks_marks && !(0..LINES).all(|line| self.is_marked(state, line)) {
            return Err(Property::Marked);
        }
        Ok(())
    }
}
