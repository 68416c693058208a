//! Differences that are known, each with its reason.

use gem_coherency::Errno;

use super::replay::{Difference, EventKind};

/// A known difference.
#[derive(Debug)]
pub struct Known {
    /// The difference, in a few words.
    pub name: &'static str,
    /// The reason why it is left.
    pub why: &'static str,
    /// Returns whether a difference is this one.
    pub is: fn(&Difference) -> bool,
}

/// All of them.
pub const ALL: &[Known] = &[Known {
    name: "an object that was closed can still be found by its offset",
    why: "the driver frees it some time after the call, and the software device at once",
    is: |difference| {
        let closes = |name| ["GEM_CLOSE", "MODE_DESTROY_DUMB"].contains(&name);
        let closed = difference.calls.iter().any(|call| closes(call.shape.name));
        let found = match difference.what {
            EventKind::Result { real, soft } => real == Err(Errno::EACCES) && soft == Err(Errno::EINVAL),
            EventKind::Memory { .. }
            | EventKind::Bytes { .. }
            | EventKind::Flushes { .. }
            | EventKind::Start(_) => false,
        };
        found && closed && difference.calls.last().is_some_and(|call| call.shape.name == "mmap")
    },
}];
