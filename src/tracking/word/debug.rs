//! The value of the object word, printed.

use std::fmt;

use super::layout::{
    CHANGING, CLOSED, DONT_NEED, GPU_WROTE, GTT_STORES, PINS, PURGED, READERS, SUBMITS, UNCONFIRMED,
    WC_STORES, WRITERS,
};
use super::state::State;

impl fmt::Debug for State {
    /// Prints, for example, `llc W1 R2 WC_STORES`: the level, the nonzero counts, and the flags that are set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level())?;
        for (letter, count) in [('W', WRITERS), ('R', READERS), ('S', SUBMITS), ('P', PINS)] {
            if self.get(count) != 0 {
                write!(f, " {letter}{}", self.get(count))?;
            }
        }
        let flags = [
            ("UNCONFIRMED", UNCONFIRMED),
            ("CLOSED", CLOSED),
            ("PURGED", PURGED),
            ("DONT_NEED", DONT_NEED),
            ("CHANGING", CHANGING),
            ("WC_STORES", WC_STORES),
            ("GTT_STORES", GTT_STORES),
            ("GPU_WROTE", GPU_WROTE),
        ];
        for (name, flag) in flags {
            if self.is(flag) {
                write!(f, " {name}")?;
            }
        }
        Ok(())
    }
}
