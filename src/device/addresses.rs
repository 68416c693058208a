//! GPU addresses for objects that a batch refers to by address.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::fork::Owner;
use crate::platform::{Caps, Machine, Ppgtt};

/// The lowest address that is allocated, so that a batch that reads at 0 hits no object.
const FIRST: u64 = 1 << 24;
/// The width of canonical addresses whose highest bit is 0, in bits.
const LAST_BITS: u8 = 47;
/// The alignment of addresses: the largest pages of objects in system memory. On discrete devices, it is the
/// part of the page tables that has pages of one size (`vm->min_alignment`).
const INTEGRATED_STEP: u64 = 64 << 10;
const DISCRETE_STEP: u64 = 2 << 20;

/// Holes: each start with the end, which is one past the last address.
type Holes = BTreeMap<u64, u64>;

/// The free addresses in the address space of the default context.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    holes: Arc<Mutex<Holes>>,
    step: u64,
    owner: Owner,
}

/// An object's address, which is freed when this is dropped.
#[derive(Debug)]
pub(crate) struct Address {
    start: u64,
    end: u64,
    holes: Arc<Mutex<Holes>>,
    owner: Owner,
}

fn lock(holes: &Mutex<Holes>) -> MutexGuard<'_, Holes> {
    holes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Addresses {
    /// Creates the address space of a machine, all free. It is empty if the kernel chooses the addresses,
    /// because contexts have no address space of their own.
    pub(crate) fn new(machine: &Machine) -> Self {
        let holes = match machine.platform.ppgtt {
            Ppgtt::Full { bits } => {
                // The kernel may reserve the end.
                let end = (1 << bits.min(LAST_BITS)) - DISCRETE_STEP;
                Holes::from([(FIRST, end)])
            }
            Ppgtt::None | Ppgtt::Aliasing { .. } => Holes::new(),
        };
        let discrete = machine.caps.contains(Caps::DISCRETE);
        let step = if discrete { DISCRETE_STEP } else { INTEGRATED_STEP };
        Self { holes: Arc::new(Mutex::new(holes)), step, owner: Owner::current() }
    }

    /// Allocates the lowest address with room for `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::NoAddress`].
    pub(crate) fn take(&self, bytes: u64) -> Result<Address> {
        let none = Error::NoAddress { bytes };
        let Some(len) = bytes.max(1).checked_next_multiple_of(self.step) else { return Err(none) };
        let mut holes = lock(&self.holes);
        let found = holes.iter().find(|&(start, end)| end - start >= len);
        let Some((&start, &end)) = found else { return Err(none) };
        holes.remove(&start);
        if start + len < end {
            holes.insert(start + len, end);
        }
        Ok(Address { start, end: start + len, holes: Arc::clone(&self.holes), owner: self.owner })
    }
}

impl Address {
    /// Returns the address of the first byte.
    pub(crate) fn get(&self) -> u64 {
        self.start
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        if !self.owner.is_here() {
            return;
        }
        let mut holes = lock(&self.holes);
        let (mut start, mut end) = (self.start, self.end);
        if let Some(after) = holes.remove(&end) {
            end = after;
        }
        let before = holes.range(..start).next_back();
        if let Some((&before, _)) = before.filter(|&(_, &touches)| touches == start) {
            start = before;
        }
        holes.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::by_name;
    use crate::vocabulary::KernelVersion;

    fn of(platform: &str) -> Addresses {
        Addresses::new(&by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false))
    }

    #[test]
    fn addresses_do_not_overlap_and_come_back() {
        let all = of("glk");
        let first = all.take(1).unwrap();
        let second = all.take(INTEGRATED_STEP + 1).unwrap();
        let third = all.take(4096).unwrap();
        assert_eq!([first.get(), second.get(), third.get()], [0, 1, 3].map(|n| FIRST + n * INTEGRATED_STEP));
        drop(second);
        assert_eq!(all.take(2 * INTEGRATED_STEP).unwrap().get(), FIRST + INTEGRATED_STEP, "the hole is used");
        drop(first);
        drop(third);
        assert_eq!(lock(&all.holes).len(), 1, "what is free is one piece again");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        // `jsl` has addresses of 36 bits.
        let jsl = of("jsl");
        assert_eq!(jsl.take(1 << 36).unwrap_err(), Error::NoAddress { bytes: 1 << 36 });
        assert_eq!(jsl.take(u64::MAX).unwrap_err(), Error::NoAddress { bytes: u64::MAX });
        let most = jsl.take((1 << 36) - DISCRETE_STEP - FIRST).unwrap();
        assert_eq!(jsl.take(1).unwrap_err(), Error::NoAddress { bytes: 1 });
        drop(most);
        assert!(jsl.take(1).is_ok());
        // The kernel places objects there.
        assert!(of("ivb").take(1).is_err());
    }

    #[test]
    fn discrete_devices_keep_pages_of_different_sizes_apart() {
        let dg2 = of("dg2");
        let (_first, second) = (dg2.take(1).unwrap(), dg2.take(1).unwrap());
        assert_eq!(second.get() % DISCRETE_STEP, 0);
    }
}
