//! The comparisons, the differences that were found, and which of them are known.

use super::flushes::{Flush, FlushKind};
use super::known;
use super::replay::{Compared, Difference, EventKind};

/// The account of one device.
#[derive(Debug)]
pub struct Report {
    title: String,
    /// Set if a difference is printed when it is found.
    aloud: bool,
    compared: Compared,
    /// Differences that are not known, each kind once.
    found: Vec<Difference>,
    /// The number of old differences that were looked for and not met.
    mended: usize,
    /// Known differences met: which, and how often.
    known: std::cell::RefCell<Vec<u64>>,
}

impl Report {
    pub fn new(title: String, aloud: bool) -> Self {
        let known = std::cell::RefCell::new(vec![0; known::ALL.len()]);
        Self { title, aloud, compared: Compared::default(), found: Vec::new(), mended: 0, known }
    }

    pub fn count(&mut self, compared: Compared) {
        self.compared = self.compared.and(compared);
    }

    pub fn compared(&self) -> Compared {
        self.compared
    }

    /// Takes in that a difference of old was not met.
    pub fn is_mended(&mut self) {
        self.mended += 1;
    }

    /// Takes a difference in.
    pub fn found(&mut self, difference: Difference) {
        self.met(&difference);
        if self.is_new(&difference) {
            if self.aloud {
                print_difference(&difference);
            }
            self.found.push(difference);
        }
    }

    /// Returns whether a difference is new: neither known nor found before.
    pub fn is_new(&self, difference: &Difference) -> bool {
        known(difference).is_none() && !self.found.iter().any(|found| alike(found, difference))
    }

    /// Counts a difference if it is a known one.
    pub fn met(&self, difference: &Difference) {
        if let Some(index) = known(difference) {
            self.known.borrow_mut()[index] += 1;
        }
    }

    /// Returns the number of kinds of differences that are not known.
    pub fn unexplained(&self) -> usize {
        self.found.len()
    }

    /// One line.
    pub fn summary(&self) -> String {
        let Compared { calls, done, flushes } = self.compared;
        let known: u64 = self.known.borrow().iter().sum();
        format!(
            "{}: {calls} calls ({done} succeeded), {flushes} flushes, {} differences, {known} known",
            self.title,
            self.found.len()
        )
    }

    /// A row of a table: calls, those that succeeded, flushes; kinds of differences that were ever found,
    /// of these mended, known, and neither.
    pub fn row(&self) -> String {
        let Compared { calls, done, flushes } = self.compared;
        let known = self.known.borrow().iter().filter(|&&times| times > 0).count();
        let Self { title, mended, .. } = self;
        let left = self.found.len();
        let all = mended + known + left;
        format!("| {title} | {calls} | {done} | {flushes} | {all} | {mended} | {known} | {left} |")
    }

    /// Prints the known differences and the account; new ones were printed when they were found.
    pub fn print(&self) {
        for (known, &times) in known::ALL.iter().zip(self.known.borrow().iter()) {
            if times > 0 {
                println!("known, {times} times: {} ({})", known.name, known.why);
            }
        }
        println!("{}", self.summary());
    }
}

/// Which known difference it is.
fn known(difference: &Difference) -> Option<usize> {
    known::ALL.iter().position(|known| (known.is)(difference))
}

/// Returns whether two differences are of one kind: the same request, differing in the same way.
fn alike(one: &Difference, other: &Difference) -> bool {
    let name = |difference: &Difference| difference.calls.last().map(|call| call.shape.name);
    name(one) == name(other)
        && match (&one.what, &other.what) {
            (EventKind::Result { real, soft }, EventKind::Result { real: real_too, soft: soft_too }) => {
                real == real_too && soft == soft_too
            }
            (EventKind::Flushes { real, soft }, EventKind::Flushes { real: real_too, soft: soft_too }) => {
                kinds(real).eq(kinds(real_too)) && kinds(soft).eq(kinds(soft_too))
            }
            (EventKind::Bytes { .. }, EventKind::Bytes { .. })
            | (EventKind::Memory { .. }, EventKind::Memory { .. })
            | (EventKind::Start(_), EventKind::Start(_)) => true,
            _ => false,
        }
}

/// Returns the kinds of flushes, whatever they flush.
fn kinds(flushes: &[Flush]) -> impl Iterator<Item = FlushKind> {
    flushes.iter().map(|flush| flush.kind)
}

fn print_difference(difference: &Difference) {
    println!("difference:");
    for call in &difference.calls {
        println!("    {call:?}");
    }
    match &difference.what {
        EventKind::Result { real, soft } => println!("  driver   {real:?}\n  software {soft:?}"),
        EventKind::Bytes { real, soft } => println!("  driver   {real:02x?}\n  software {soft:02x?}"),
        EventKind::Memory { address, real, soft } => {
            println!("  at {address:#x}\n  driver   {real:02x?}\n  software {soft:02x?}");
        }
        EventKind::Flushes { real, soft } => println!("  driver   {real:?}\n  software {soft:?}"),
        EventKind::Start(why) => println!("  cannot begin: {why}"),
    }
}
