//! The states that a search has found, in order of discovery, each with its parent.

/// A state's index in the order of discovery.
pub(crate) type Index = u32;

/// Marks a free slot; no packed state has every bit set.
const FREE: u64 = u64::MAX;

/// A set of states with their parents; lookups use open addressing.
#[derive(Debug)]
pub(crate) struct Visited {
    states: Vec<u64>,
    parents: Vec<Index>,
    /// The states by hash, so that a lookup costs one memory access.
    slots: Vec<u64>,
    /// Peak memory while the slots grew, in bytes.
    peak: u64,
}

/// Hashes a packed state (Fibonacci hashing), because its low bits take few values.
fn spread(state: u64) -> u64 {
    (state ^ state >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Visited {
    /// Creates an empty set.
    pub(crate) fn new() -> Self {
        Self { states: Vec::new(), parents: Vec::new(), slots: vec![FREE; 1 << 10], peak: 0 }
    }

    /// Adds a state that was reached from `parent`; returns false if it is known already.
    pub(crate) fn insert(&mut self, state: u64, parent: Index) -> bool {
        // The slots are at most three quarters full.
        if self.states.len() * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let slot = self.slot(state);
        if self.slots[slot] != FREE {
            return false;
        }
        self.slots[slot] = state;
        self.states.push(state);
        self.parents.push(parent);
        true
    }

    /// Adds the states that are new; returns the index of the first of them.
    ///
    /// Reads all slots before it uses any of them: the reads are independent, so the processor waits for
    /// memory only once.
    pub(crate) fn insert_all(&mut self, states: &[u64], parent: Index) -> Index {
        let first = self.states.len() as Index;
        let fetched = states.iter().fold(0, |all, &state| all ^ self.slots[self.home(state)]);
        std::hint::black_box(fetched);
        for &state in states {
            self.insert(state, parent);
        }
        first
    }

    /// Returns the preferred slot of `state`.
    fn home(&self, state: u64) -> usize {
        (spread(state) >> (u64::BITS - self.slots.len().trailing_zeros())) as usize
    }

    /// Returns the slot that holds `state`, or the free slot for it.
    fn slot(&self, state: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.home(state);
        while self.slots[slot] != FREE && self.slots[slot] != state {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let slots = vec![FREE; self.slots.len() * 2];
        // The old and the new slots exist at the same time here.
        self.peak = self.bytes() + (slots.len() * size_of::<u64>()) as u64;
        self.slots = slots;
        for index in 0..self.states.len() {
            let slot = self.slot(self.states[index]);
            self.slots[slot] = self.states[index];
        }
    }

    /// Returns the state at an index.
    pub(crate) fn get(&self, index: Index) -> Option<u64> {
        self.states.get(index as usize).copied()
    }

    /// Number of states.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns the states from the first one to the one at `index`.
    pub(crate) fn path(&self, index: Index) -> Vec<u64> {
        let mut path = Vec::new();
        let mut at = index;
        while let (Some(&state), Some(&parent)) =
            (self.states.get(at as usize), self.parents.get(at as usize))
        {
            path.push(state);
            if parent == at {
                break;
            }
            at = parent;
        }
        path.reverse();
        path
    }

    /// Returns the peak memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let (state, parent) = (size_of::<u64>(), size_of::<Index>());
        let now =
            self.states.capacity() * state + self.parents.capacity() * parent + self.slots.capacity() * state;
        self.peak.max(now as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_new_once_and_is_found_after_growth() {
        let mut visited = Visited::new();
        for state in 0..10_000_u64 {
            assert!(visited.insert(state << 40, state.saturating_sub(1) as Index));
        }
        for state in 0..10_000_u64 {
            assert!(!visited.insert(state << 40, 0));
        }
        assert_eq!(visited.len(), 10_000);
        assert_eq!(visited.get(17), Some(17 << 40));
        assert_eq!(visited.path(3), [0, 1 << 40, 2 << 40, 3 << 40]);
        assert!(visited.bytes() >= 10_000 * 12);
    }
}
