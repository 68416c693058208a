//! GPU addresses for the objects of batches.

use std::collections::BTreeMap;

use gem_coherency::platform::{Caps, Machine, Ppgtt};
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::Handle;

use crate::{Error, Result};

/// The lowest address that is allocated, so that a batch that reads at 0 hits no object.
const FIRST: u64 = 1 << 24;
/// The width of canonical addresses whose highest bit is 0, in bits.
const LAST_BITS: u8 = 47;
/// The alignment of addresses: the largest pages of objects in system memory. On discrete devices, it is the
/// part of the page tables that has pages of one size (`vm->min_alignment`).
const INTEGRATED_STEP: u64 = 64 << 10;
const DISCRETE_STEP: u64 = 2 << 20;

/// The addresses of a device's objects in the default context.
///
/// An object keeps its address from batch to batch, so that the kernel does not move it. The next object with
/// the same handle takes over the range, if it fits.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// The first address after the usable ones.
    end: u64,
    step: u64,
    ranges: Mutex<Ranges>,
}

/// The addresses in use.
#[derive(Debug, Default)]
struct Ranges {
    /// The start of each object's range.
    starts: BTreeMap<Handle, u64>,
    /// The end of each range, by its start.
    ends: BTreeMap<u64, u64>,
}

impl Addresses {
    /// Creates the address space of a machine, all free. It is empty if the kernel chooses the addresses,
    /// because contexts have no address space of their own.
    pub(crate) fn new(machine: &Machine) -> Self {
        let end = match machine.platform.ppgtt {
            // The kernel may reserve the end.
            Ppgtt::Full { bits } => (1 << bits.min(LAST_BITS)) - DISCRETE_STEP,
            Ppgtt::None | Ppgtt::Aliasing { .. } => FIRST,
        };
        let discrete = machine.caps.contains(Caps::DISCRETE);
        let step = if discrete { DISCRETE_STEP } else { INTEGRATED_STEP };
        Self { end, step, ranges: Mutex::default() }
    }

    /// Adds an address for each of the different objects, which are given with their sizes in bytes, to `addresses`, which
    /// has room for them.
    ///
    /// If there is no room in the address space, objects of other batches lose their addresses, and the kernel moves
    /// them.
    ///
    /// # Errors
    /// [`Error::NoAddress`] if the objects do not fit.
    pub(crate) fn place(
        &self,
        objects: impl Iterator<Item = (Handle, u64)> + Clone,
        addresses: &mut Vec<u64>,
    ) -> Result<()> {
        let mut ranges = self.ranges.lock();
        let mut all = |ranges: &mut Ranges| {
            addresses.clear();
            objects.clone().try_for_each(|(handle, bytes)| {
                addresses.push(self.place_one(ranges, handle, bytes)?);
                Ok(())
            })
        };
        all(&mut ranges).or_else(|_: Error| {
            *ranges = Ranges::default();
            all(&mut ranges)
        })
    }

    /// Returns the address of one object: its present one, or the lowest with room for it.
    fn place_one(&self, ranges: &mut Ranges, handle: Handle, bytes: u64) -> Result<u64> {
        let none = Error::NoAddress { bytes };
        let Some(len) = bytes.max(1).checked_next_multiple_of(self.step) else { return Err(none) };
        if let Some(&start) = ranges.starts.get(&handle) {
            if ranges.ends.get(&start).is_some_and(|end| end - start >= len) {
                return Ok(start);
            }
            ranges.starts.remove(&handle);
            ranges.ends.remove(&start);
        }
        let mut start = FIRST;
        for (&used, &end) in &ranges.ends {
            if used - start >= len {
                break;
            }
            start = end;
        }
        match start.checked_add(len).filter(|&end| end <= self.end) {
            Some(end) => {
                ranges.starts.insert(handle, start);
                ranges.ends.insert(start, end);
                Ok(start)
            }
            None => Err(none),
        }
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency::platform::by_name;
    use gem_coherency::vocabulary::KernelVersion;

    use super::*;

    fn of(platform: &str) -> Addresses {
        Addresses::new(&by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false))
    }

    /// Places objects, each with its handle's number and its size.
    fn place(space: &Addresses, objects: &[(u32, u64)]) -> Result<Vec<u64>> {
        let mut addresses = Vec::new();
        let objects = objects.iter().map(|&(handle, bytes)| (Handle::new(handle).unwrap(), bytes));
        space.place(objects, &mut addresses)?;
        Ok(addresses)
    }

    #[test]
    fn objects_keep_their_addresses_and_do_not_overlap() {
        let space = of("glk");
        let expected = [0, 1, 3].map(|n| FIRST + n * INTEGRATED_STEP);
        assert_eq!(place(&space, &[(1, 1), (2, INTEGRATED_STEP + 1), (3, 4096)]).unwrap(), expected);
        assert_eq!(
            place(&space, &[(3, 4096), (2, 1), (1, 1)]).unwrap(),
            [expected[2], expected[1], expected[0]]
        );
        // A larger object with the handle of an earlier one moves, and the next one fills its place.
        let moved = place(&space, &[(1, 2 * INTEGRATED_STEP), (4, 1)]).unwrap();
        assert_eq!(moved, [FIRST + 4 * INTEGRATED_STEP, FIRST]);
    }

    #[test]
    fn objects_that_do_not_fit_are_refused() {
        // `jsl` has addresses of 36 bits.
        let jsl = of("jsl");
        for bytes in [1 << 36, u64::MAX] {
            assert_eq!(place(&jsl, &[(1, bytes)]).unwrap_err(), Error::NoAddress { bytes });
        }
        let most = (1 << 36) - DISCRETE_STEP - FIRST;
        assert_eq!(place(&jsl, &[(1, most)]).unwrap(), [FIRST]);
        assert_eq!(place(&jsl, &[(1, most), (2, 1)]).unwrap_err(), Error::NoAddress { bytes: 1 });
        assert_eq!(place(&jsl, &[(1, most)]).unwrap(), [FIRST]);
        assert_eq!(place(&jsl, &[(2, 1)]).unwrap(), [FIRST], "the first object is not in this batch");
        // The kernel places objects there.
        assert!(place(&of("ivb"), &[(1, 1)]).is_err());
    }

    #[test]
    fn discrete_devices_keep_pages_of_different_sizes_apart() {
        let placed = place(&of("dg2"), &[(1, 1), (2, 1)]).unwrap();
        assert_eq!(placed[1] % DISCRETE_STEP, 0);
        assert_ne!(placed[0], placed[1]);
    }
}
