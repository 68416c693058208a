//! Reasons why a transition of the object word does not happen.

use crate::error::Error;
use crate::vocabulary::{CacheLevel, Handle};

/// The reason why a transition did not happen; the word is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// The object was closed.
    Closed,
    /// The kernel purged the contents.
    Purged,
    /// The contents are marked as not needed, and the kernel may purge them at any time.
    DontNeed,
    /// Guards or submissions are open.
    InUse {
        /// Open write guards.
        writers: u32,
        /// Open read guards.
        readers: u32,
        /// Submissions that have begun but not ended.
        submits: u32,
    },
    /// The display reads the object at a level that must not change meanwhile.
    OnScreen {
        /// The object's level.
        level: CacheLevel,
        /// The requested level.
        asked: CacheLevel,
    },
    /// The display reads the object.
    Pinned,
    /// Another thread is changing the level or the mappings.
    Changing,
    /// A count is at its limit.
    TooManyGuards {
        /// The limit.
        limit: u32,
    },
}

impl Blocked {
    /// Converts it to an error about `handle`.
    pub fn error(self, handle: Handle) -> Error {
        let handle = handle.get();
        match self {
            Self::Closed => Error::Closed { handle },
            Self::Purged => Error::Purged { handle },
            Self::DontNeed => Error::DontNeed { handle },
            Self::InUse { writers, readers, submits } => Error::InUse { handle, writers, readers, submits },
            Self::OnScreen { level, asked } => Error::OnScreen { handle, from: level, to: asked },
            Self::Pinned => Error::Pinned { handle },
            Self::Changing => Error::LevelChanging { handle },
            Self::TooManyGuards { limit } => Error::TooManyGuards { handle, limit },
        }
    }
}
