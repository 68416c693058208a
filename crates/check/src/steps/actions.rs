//! The actions of the model.

use std::fmt;

use crate::premises::mutant::{Mutant, Mutation};
use crate::premises::setting::Caller;
use crate::states::state::{Buffer, GRANULES, LINES, Window};
use crate::steps::system::System;
use gem_coherency::engine::StoreMethod;
use gem_coherency::platform::{Call, Caps};
use gem_coherency::policy::driver::Path;
use gem_coherency::policy::kernel::{Backing, Creation, Event};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency_memory_model::CacheMove;

/// One action: by the caches, the kernel, or the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A spontaneous cache move of a line.
    CacheMove(CacheMove, usize),
    /// A buffered store of a granule reaches memory.
    Drain(Buffer, usize),
    /// A mutant's delayed flush completes.
    Complete,
    /// The object is closed, and another process's object gets its memory.
    HandOver,
    /// The library caches the object and reuses it for another user in the same process, for whom its
    /// contents are undefined.
    Reuse,
    /// The caller prepares an access, which opens its window.
    Open(Window),
    /// The agent of the open window loads a line.
    Load(usize),
    /// The agent of the open window stores a granule.
    Store(usize),
    /// The CPU uploads a granule in an open window for writing.
    Upload(usize, StoreMethod),
    /// A hostile access: the load of a line, or the store of a granule.
    Touch(Path, Access, usize),
    /// A call, or an action that the kernel takes on its own.
    Call(Event),
    /// PREAD of a line.
    Pread(usize),
    /// PWRITE of a granule, with the device awake or not.
    Pwrite(usize, bool),
}

/// Returns the text for a granule.
fn granule_name(granule: usize) -> &'static str {
    ["line 0", "line 1, first half", "line 1, second half"][granule.min(GRANULES - 1)]
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CacheMove(CacheMove::WriteBack, line) => write!(f, "cache writes back line {line}"),
            Self::CacheMove(CacheMove::Evict, line) => write!(f, "cache evicts line {line}"),
            Self::CacheMove(CacheMove::Fill, line) => write!(f, "cache fills line {line} speculatively"),
            Self::CacheMove(CacheMove::WriteBackClean, line) => {
                write!(f, "cache writes back clean line {line}")
            }
            Self::Drain(buffer, granule) => {
                write!(f, "{buffer} store of {} reaches memory", granule_name(*granule))
            }
            Self::Complete => f.write_str("the flush completes"),
            Self::HandOver => f.write_str("close; another process gets the memory"),
            Self::Reuse => f.write_str("release; the object is reused"),
            Self::Open(Window::Closed) => f.write_str("end"),
            Self::Open(Window::Cpu { mode, access, .. }) => write!(f, "begin: CPU {access} ({mode})"),
            Self::Open(Window::Gpu { mocs, access }) => write!(f, "submit: GPU {access} ({mocs})"),
            Self::Open(Window::Display) => f.write_str("scan out"),
            Self::Open(Window::Announced { mocs }) => write!(f, "announce: GPU write ({mocs})"),
            Self::Load(line) => write!(f, "load line {line}"),
            Self::Store(granule) => write!(f, "store {}", granule_name(*granule)),
            Self::Upload(granule, way) => {
                let way = match way {
                    StoreMethod::NonTemporal => "bypassing",
                    StoreMethod::WriteBack => "through",
                };
                write!(f, "upload {} {way} the cache", granule_name(*granule))
            }
            Self::Touch(path, access, place) => {
                match path {
                    Path::Cpu(mode) => write!(f, "CPU ({mode}) ")?,
                    Path::Gpu(mocs) => write!(f, "GPU ({mocs}) ")?,
                    Path::Display => f.write_str("display ")?,
                }
                match access {
                    Access::Read => write!(f, "reads line {place}"),
                    Access::Write => write!(f, "writes {}", granule_name(*place)),
                }
            }
            Self::Call(Event::Release) => f.write_str("swap out"),
            Self::Call(event) => f.pad(event.name()),
            Self::Pread(line) => write!(f, "pread line {line}"),
            Self::Pwrite(granule, true) => write!(f, "pwrite {}", granule_name(*granule)),
            Self::Pwrite(granule, false) => write!(f, "pwrite {}, asleep", granule_name(*granule)),
        }
    }
}

impl Action {
    /// Returns every action that `system` can make in some state.
    pub(crate) fn all(system: &System) -> Vec<Self> {
        let mut actions = Vec::new();
        for line in 0..LINES {
            actions.extend(CacheMove::ALL.iter().map(|&cache_move| Self::CacheMove(cache_move, line)));
        }
        for &buffer in Buffer::ALL {
            actions.extend((0..GRANULES).map(|granule| Self::Drain(buffer, granule)));
        }
        if let Mutation::Planted(Mutant::NoTrailingFence | Mutant::BitsClearedFirst) = system.setting.mutation
        {
            actions.push(Self::Complete);
        }
        actions.push(Self::HandOver);
        if system.guards_lines() && system.backing() != Backing::Import {
            actions.push(Self::Reuse);
        }
        actions.extend(accesses(system));
        actions.extend(openings(system));
        actions.extend(calls(system).into_iter().map(Self::Call));
        actions
    }
}

/// Returns the modes in which the caller can map the object.
pub(crate) fn map_modes(system: &System) -> Vec<MmapMode> {
    let machine = system.setting.machine;
    let can = |mode: &MmapMode| match system.backing() {
        Backing::Import => false,
        Backing::Userptr => *mode == MmapMode::Wb,
        Backing::Shmem
        | Backing::Local
        | Backing::LocalSystem
        | Backing::Stolen
        | Backing::Internal
        | Backing::Phys => machine.refusal(Call::MmapOffset(*mode)).is_none(),
    };
    MmapMode::ALL.iter().copied().filter(can).collect()
}

/// Returns the actions that are accesses.
fn accesses(system: &System) -> Vec<Action> {
    let mut actions = Vec::new();
    match system.setting.caller {
        Caller::Protocol | Caller::Library | Caller::Unknown => {
            actions.extend((0..LINES).map(Action::Load));
            actions.extend((0..GRANULES).map(Action::Store));
            if system.guards_lines() {
                // A part of a line is stored through the cache even when bypassing it is requested.
                actions.push(Action::Upload(0, StoreMethod::NonTemporal));
                actions.extend((0..GRANULES).map(|granule| Action::Upload(granule, StoreMethod::WriteBack)));
            }
        }
        Caller::Hostile => {
            let modes = system.map_modes().iter().map(|&mode| Path::Cpu(mode));
            let gpu = MocsClass::ALL.iter().map(|&mocs| Path::Gpu(mocs));
            for path in modes.chain(gpu) {
                actions.extend((0..LINES).map(|line| Action::Touch(path, Access::Read, line)));
                actions.extend((0..GRANULES).map(|granule| Action::Touch(path, Access::Write, granule)));
            }
            actions.extend((0..LINES).map(|line| Action::Touch(Path::Display, Access::Read, line)));
        }
    }
    if !system.guards_lines() {
        actions.extend((0..LINES).map(Action::Pread));
        for awake in [true, false] {
            actions.extend((0..GRANULES).map(|granule| Action::Pwrite(granule, awake)));
        }
    }
    actions
}

/// Returns the actions that open a window.
fn openings(system: &System) -> Vec<Action> {
    let mut actions = vec![Action::Open(Window::Closed)];
    let library = system.guards_lines();
    let lines = if library { LINES } else { 1 };
    for &access in Access::ALL {
        if system.setting.caller != Caller::Hostile {
            for &mode in system.map_modes() {
                actions.extend((0..lines).map(|line| Action::Open(Window::Cpu { mode, access, line })));
            }
        }
        let classes: &[MocsClass] = match system.setting.caller {
            Caller::Library | Caller::Unknown => MocsClass::ALL,
            // Flushing for accesses that bypass the LLC is the caller's responsibility, and the kernel's uAPI
            // has no call for it.
            Caller::Protocol => &[MocsClass::PageTable, MocsClass::Uncached],
            Caller::Hostile => &[MocsClass::PageTable],
        };
        actions.extend(classes.iter().map(|&mocs| Action::Open(Window::Gpu { mocs, access })));
    }
    if library {
        actions.extend(MocsClass::ALL.iter().map(|&mocs| Action::Open(Window::Announced { mocs })));
    }
    if library && matches!(system.backing(), Backing::Shmem | Backing::Local) {
        actions.push(Action::Open(Window::Display));
    }
    actions
}

/// Returns the calls and kernel events that are not accesses.
fn calls(system: &System) -> Vec<Event> {
    let mut events = vec![Event::Release, Event::Suspend, Event::Hibernate];
    let changes_level = !matches!(system.setting.creation, Creation::UserWithPat(_));
    if changes_level {
        events.extend(CachingMode::ALL.iter().map(|&mode| Event::SetCaching(mode)));
    }
    // The exporter of a shown buffer flushes it, outside this object's state.
    let shows = matches!(system.backing(), Backing::Shmem | Backing::Local);
    if shows {
        events.push(Event::UnpinDisplay);
    }
    if system.guards_lines() {
        return events;
    }
    if shows {
        events.extend([
            Event::AddFramebuffer,
            Event::RemoveFramebuffer,
            Event::PinDisplay,
            Event::SwFinish,
            Event::DirtyFb,
        ]);
    }
    if system.backing() == Backing::Shmem && !system.caps().contains(Caps::DISCRETE) {
        events.extend([
            Event::DmaBufBegin(Access::Read),
            Event::DmaBufBegin(Access::Write),
            Event::DmaBufEnd,
        ]);
    }
    if system.setting.caller == Caller::Hostile {
        // A hostile process calls in any order, without making the access that it announces.
        for &access in Access::ALL {
            events.extend([
                Event::SetDomainCpu(access),
                Event::SetDomainGtt(access),
                Event::SetDomainWc(access),
            ]);
        }
    }
    events
}
