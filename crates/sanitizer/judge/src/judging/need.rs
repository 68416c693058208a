//! The verdict on a flush, or on a request that moves an object between domains.

/// Whether a flush or a request was needed; the greater one is that of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// The rules exclude that an agent which can reach the object misses what was flushed.
    Useless,
    /// An agent that can reach the object has not accessed it yet, or an access that may concern it was not simulated.
    Precautionary,
    /// Without it, a later access of this run would have read old bytes, or newer ones would have been lost.
    Needed,
}

/// Numbers of lines or requests by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that are [`Need::Needed`].
    pub needed: u64,
    /// Those that are [`Need::Precautionary`].
    pub precautionary: u64,
    /// Those that are [`Need::Useless`].
    pub useless: u64,
}

impl Counts {
    /// Adds one.
    pub(crate) fn add(&mut self, need: Need) {
        *match need {
            Need::Needed => &mut self.needed,
            Need::Precautionary => &mut self.precautionary,
            Need::Useless => &mut self.useless,
        } += 1;
    }

    /// Takes one away that was added.
    pub(crate) fn remove(&mut self, need: Need) {
        let count = match need {
            Need::Needed => &mut self.needed,
            Need::Precautionary => &mut self.precautionary,
            Need::Useless => &mut self.useless,
        };
        *count = count.saturating_sub(1);
    }

    /// Adds others.
    pub fn extend(&mut self, other: Self) {
        self.needed += other.needed;
        self.precautionary += other.precautionary;
        self.useless += other.useless;
    }

    /// Returns the number of all.
    pub fn all(&self) -> u64 {
        self.needed + self.precautionary + self.useless
    }

    /// Returns the greatest verdict; `None` if there are none.
    pub fn worst(&self) -> Option<Need> {
        let of = |count, need| (count > 0).then_some(need);
        of(self.needed, Need::Needed)
            .or(of(self.precautionary, Need::Precautionary))
            .or(of(self.useless, Need::Useless))
    }
}
