//! Differences that are known, each with its reason.

use nix::errno::Errno;

use super::arena::{USER, USER_LEN};
use super::replay::{Difference, What};

/// A known difference.
#[derive(Debug)]
pub struct Known {
    /// What differs, in a few words.
    pub name: &'static str,
    /// Why it is left.
    pub why: &'static str,
    /// Whether a difference is this one.
    pub is: fn(&Difference) -> bool,
}

/// All of them.
pub const ALL: &[Known] = &[
    Known {
        name: "a relocation into userptr memory shows in the process",
        why: "the bytes of a userptr object are its own on the software device, not the process's",
        is: |difference| {
            let submits =
                difference.calls.last().is_some_and(|call| call.shape.name.starts_with("GEM_EXECBUFFER2"));
            let in_user_pages = match difference.what {
                What::Memory { address, .. } => (USER..USER + USER_LEN).contains(&address),
                What::Result { .. } | What::Bytes { .. } | What::Flushes { .. } | What::Start(_) => false,
            };
            submits && in_user_pages
        },
    },
    Known {
        name: "an object that was closed can still be found by its offset",
        why: "the driver frees it some time after the call, and the software device at once",
        is: |difference| {
            let called = |name| difference.calls.iter().any(|call| call.shape.name == name);
            let found = match difference.what {
                What::Result { real, soft } => real == Err(Errno::EACCES) && soft == Err(Errno::EINVAL),
                What::Memory { .. } | What::Bytes { .. } | What::Flushes { .. } | What::Start(_) => false,
            };
            found
                && called("GEM_CLOSE")
                && difference.calls.last().is_some_and(|call| call.shape.name == "mmap")
        },
    },
];
