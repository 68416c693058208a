//! How the facts about a kernel version are known.

use core::fmt;

use crate::vocabulary::{KernelVersion, words};

words! {
    /// How the facts about a kernel version are known.
    Basis, "basis" {
        /// The virtual machine of this project runs this kernel's driver, and the rules are compared with it.
        Run = "run",
        /// The kernel's source was read, and its driver was not run.
        Read = "read",
        /// Neither.
        Assumed = "assumed",
    }
}

/// The kernels that were run or read, oldest first.
static KNOWN: [(KernelVersion, Basis); 5] = [
    // The kernels of `crates/vm`.
    (KernelVersion::new(5, 10), Basis::Run),
    (KernelVersion::new(6, 1), Basis::Run),
    (KernelVersion::new(6, 12), Basis::Run),
    (KernelVersion::new(7, 2), Basis::Run),
    (KernelVersion::new(7, 3), Basis::Read),
];

impl Basis {
    /// Returns how the facts about `kernel` are known.
    pub fn of(kernel: KernelVersion) -> Self {
        KNOWN.iter().find(|(known, _)| *known == kernel).map_or(Self::Assumed, |&(_, basis)| basis)
    }
}

/// A kernel version with the basis of its facts, as a sentence.
///
/// ```
/// use gem_coherency_policy::platform::KernelBasis;
/// use gem_coherency_policy::vocabulary::KernelVersion;
///
/// let text = |major, minor| KernelBasis(KernelVersion::new(major, minor)).to_string();
/// assert_eq!(text(6, 12), "Kernel 6.12 was run: the rules are compared with its driver in a virtual machine.");
/// assert_eq!(text(99, 1), "Kernel 99.1 is assumed: it was neither run nor read, and is taken to be like 7.3.");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelBasis(pub KernelVersion);

impl fmt::Display for KernelBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kernel) = *self;
        let older = KNOWN.iter().rev().find(|(known, _)| *known < kernel).map(|&(known, _)| known);
        let newer = KNOWN.iter().find(|(known, _)| *known > kernel).map(|&(known, _)| known);
        let neither = "it was neither run nor read, and";
        match (Basis::of(kernel), older, newer) {
            (Basis::Run, ..) => {
                write!(
                    f,
                    "Kernel {kernel} was run: the rules are compared with its driver in a virtual machine."
                )
            }
            (Basis::Read, ..) => {
                write!(f, "Kernel {kernel} was read: the rules follow its source; its driver was not run.")
            }
            (Basis::Assumed, Some(older), Some(newer)) => write!(
                f,
                "Kernel {kernel} is assumed: {neither} its rules follow from those of {older} and {newer} and from the \
                 commits between them that change one."
            ),
            (Basis::Assumed, Some(like), None) | (Basis::Assumed, None, Some(like)) => {
                write!(f, "Kernel {kernel} is assumed: {neither} is taken to be like {like}.")
            }
            (Basis::Assumed, None, None) => write!(f, "Kernel {kernel} is assumed."),
        }
    }
}

/// Returns whether `kernel` is later than every kernel that was run or read.
pub(super) fn is_later_than_known(kernel: KernelVersion) -> bool {
    KNOWN.iter().all(|(known, _)| *known < kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Basis::{Assumed, Read, Run};

    #[test]
    fn a_kernel_was_run_or_read_or_is_assumed() {
        for (text, basis) in [
            ("5.3", Assumed),
            ("5.10", Run),
            ("5.14", Assumed),
            ("6.1.0", Assumed),
            ("6.1", Run),
            ("6.2", Assumed),
            ("6.12", Run),
            ("7.2", Run),
            ("7.3", Read),
            ("7.4", Assumed),
            ("8.0", Assumed),
            ("99.1", Assumed),
        ] {
            let kernel = text.parse().unwrap();
            assert_eq!(Basis::of(kernel), basis, "{text}");
            let sentence = KernelBasis(kernel).to_string();
            let word = [" was run: ", " was read: ", " is assumed: "][basis as usize];
            assert!(sentence.starts_with(&format!("Kernel {text}{word}")), "{sentence}");
        }
    }

    #[test]
    fn what_is_assumed_names_the_kernels_that_it_follows_from() {
        let text = |kernel: &str| KernelBasis(kernel.parse().unwrap()).to_string();
        assert!(text("5.3").ends_with("taken to be like 5.10."), "{}", text("5.3"));
        assert!(text("6.9").contains("those of 6.1 and 6.12"), "{}", text("6.9"));
        assert!(text("8.0").ends_with("taken to be like 7.3."), "{}", text("8.0"));
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(KNOWN.is_sorted_by(|(a, _), (b, _)| a < b));
    }
}
