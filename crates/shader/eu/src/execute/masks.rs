//! The channels that are executed, and those that wait for an instruction.

use std::collections::BTreeMap;

/// The dispatched channels of a thread, one bit each.
///
/// Each channel has an instruction that it goes on from, and is executed when the thread is there (Programmer's Reference Manual,
/// "Evaluate Write Enable").
#[derive(Clone, Debug)]
pub(super) struct Masks {
    /// The channels that are at the thread's instruction.
    active: u32,
    /// The others, by the first byte of the instruction that they wait for.
    waiting: BTreeMap<u32, u32>,
}

impl Masks {
    /// Returns masks of channels of which none waits.
    pub fn new(dispatched: u32) -> Self {
        Self { active: dispatched, waiting: BTreeMap::new() }
    }

    /// Returns the channels that are executed.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Makes channels wait for an instruction.
    pub fn wait(&mut self, channels: u32, at: u32) {
        let leaving = self.active & channels;
        self.active &= !leaving;
        if leaving != 0 {
            *self.waiting.entry(at).or_default() |= leaving;
        }
    }

    /// Adds the channels that wait for the thread's instruction to those that are executed.
    pub fn arrive(&mut self, at: u32) {
        self.active |= self.waiting.remove(&at).unwrap_or(0);
    }

    /// Returns whether channels wait for an instruction that is after `at` and before `end`.
    pub fn waits_between(&self, at: u32, end: u32) -> bool {
        self.waiting.keys().any(|place| (at + 1..end).contains(place))
    }

    /// Returns whether channels wait for any instruction.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_executed_where_it_waits() {
        let mut masks = Masks::new(0b1111);
        masks.wait(0b1_0011, 32);
        masks.wait(0b0111, 64);
        assert_eq!(
            masks.active(),
            0b1000,
            "a channel waits for one instruction, and only if it was dispatched"
        );
        masks.arrive(48);
        assert_eq!(masks.active(), 0b1000);
        assert!(masks.waits_between(0, 33) && !masks.waits_between(0, 32) && !masks.waits_between(32, 64));
        masks.arrive(32);
        assert_eq!(masks.active(), 0b1011);
        masks.arrive(64);
        assert_eq!((masks.active(), masks.waits()), (0b1111, false));
    }
}
