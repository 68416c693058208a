//! What a driver must do for a BO that it maps itself: flush and invalidate, by agent and path.

use crate::platform::Caps;
use crate::policy::Decision;
use crate::vocabulary::{Access, Agent, CacheLevel, MmapMode, MocsClass};

/// An agent and the way it takes to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// The CPU through a mapping.
    Cpu(MmapMode),
    /// The GPU with a MOCS entry of this class.
    Gpu(MocsClass),
    /// The display engine.
    Display,
}

impl Path {
    /// Whose path it is.
    pub const fn agent(self) -> Agent {
        match self {
            Self::Cpu(_) => Agent::Cpu,
            Self::Gpu(_) => Agent::Gpu,
            Self::Display => Agent::Display,
        }
    }
}

/// What has to leave the writer's caches before `next` accesses the same memory.
pub fn needs_flush(caps: Caps, level: CacheLevel, writer: Path, next: Path, access: Access) -> Decision {
    let _ = (caps, level, writer, next, access);
    unimplemented!()
}

/// What `next` has to drop from its cache before it accesses memory that `writer` wrote.
///
/// For a CPU write it is about partly overwritten lines only: a line that is stored whole needs no
/// invalidate.
pub fn needs_invalidate(caps: Caps, level: CacheLevel, writer: Path, next: Path, access: Access) -> Decision {
    let _ = (caps, level, writer, next, access);
    unimplemented!()
}
