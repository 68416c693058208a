//! Which channels of a thread an instruction is executed for.

/// Which channels an instruction is executed for.
pub struct Channels {
    pub count: u32,
    /// The first one's bit in the dispatch mask and in flags.
    pub first: u32,
    /// Also those that are off or elsewhere.
    pub no_mask: bool,
    /// Those for whose flags it holds.
    pub predicate: Option<Predicate>,
    /// The flags' first bit.
    pub flags: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Predicate {
    Set,
    Clear,
    /// Any flag of the channel's four is set, or none.
    AnyOfFour {
        holds: bool,
    },
}
