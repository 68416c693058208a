//! The process's address space: its own pages, and mappings of objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency::Errno;
use gem_coherency::vocabulary::Access;

use crate::kernel::mappings::window::Window;
use crate::kernel::objects::state::Changes;
use crate::kernel::objects::userptr::Part;
use crate::memory::adversary::Adversary;
use crate::memory::program::Pages;
use crate::memory::program::ProgramMemory;
use crate::process::area::{Area, Backing};
use gem_coherency::cacheops::LineOp;
use gem_coherency::units::PAGE_BYTES;

/// One past the last address of a process (`TASK_SIZE_MAX` with four page-table levels).
pub(crate) const USER_END: u64 = (1 << 47) - PAGE_BYTES;
/// The address where the downward search for room for a mapping starts (`mmap_base`).
const MAP_BASE: u64 = 0x7fff_0000_0000;
/// The same for a program that is not simulated: x86-64 has no pointers there, so a mapping hides none of its memory.
const PROGRAM_MAP_BASE: u64 = 1 << 62;
/// Limit of a process's own memory in bytes, so that a simulated process cannot exhaust the host.
const MOST_BYTES: u64 = 1 << 30;

/// An address space.
#[derive(Debug)]
pub(crate) struct Memory {
    id: u64,
    pub(super) areas: BTreeMap<u64, Area>,
    /// Bytes of the process's own memory.
    own: u64,
    /// Number of areas created so far.
    made: u64,
    /// The changes that the program's mappings follow.
    pub(crate) followed: Changes,
    /// The memory outside of the areas, for a program that is not simulated.
    pub(crate) program: Option<Arc<dyn ProgramMemory>>,
}

/// Number of address spaces created so far.
static SPACES: AtomicU64 = AtomicU64::new(0);

impl Default for Memory {
    fn default() -> Self {
        // Relaxed: a unique number; it publishes no other data.
        let id = SPACES.fetch_add(1, Ordering::Relaxed);
        Self { id, areas: BTreeMap::new(), own: 0, made: 0, followed: Changes::default(), program: None }
    }
}

impl Memory {
    /// Creates the address space of a program: `memory`, and mappings of objects where a program has no memory.
    pub(crate) fn of_program(memory: Arc<dyn ProgramMemory>) -> Self {
        Self { program: Some(memory), ..Self::default() }
    }

    /// Maps zeroed memory at `address`.
    pub(crate) fn allocate(&mut self, address: u64, len: u64, pages: Pages) -> Result<(), Errno> {
        let end = address.checked_add(len).filter(|&end| end <= USER_END).ok_or(Errno::EINVAL)?;
        if len == 0 || !(address | len).is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        if self.overlaps(address, end) {
            return Err(Errno::EEXIST);
        }
        if self.own + len > MOST_BYTES {
            return Err(Errno::ENOMEM);
        }
        self.own += len;
        self.insert(address, len, pages, Backing::Anonymous(BTreeMap::new()));
        Ok(())
    }

    /// Maps `len` bytes of an object, a whole number of pages, where there is room; returns the address.
    ///
    /// # Errors
    /// ENOMEM.
    pub(crate) fn map(&mut self, mut window: Window, len: u64, pages: Pages) -> Result<u64, Errno> {
        let chosen = match &self.program {
            Some(program) => {
                window.be_in(self.id);
                program.map(window.show().map_err(|error| error.errno())?, len, pages, None)?
            }
            None => None,
        };
        let address = match chosen {
            Some(address) => {
                self.cut(address, len)?;
                address
            }
            None => self.room(len)?,
        };
        self.insert(address, len, pages, Backing::Window(window));
        Ok(address)
    }

    pub(crate) fn insert(&mut self, address: u64, len: u64, pages: Pages, backing: Backing) {
        self.made += 1;
        self.areas.insert(address, Area { serial: self.made, len, pages, backing });
    }

    /// Finds room for `len` bytes, a whole number of pages.
    ///
    /// # Errors
    /// ENOMEM.
    pub(crate) fn room(&self, len: u64) -> Result<u64, Errno> {
        let base = if self.program.is_some() { PROGRAM_MAP_BASE } else { MAP_BASE };
        let mut end = base;
        for (&start, area) in self.areas.range(..base).rev() {
            if end.checked_sub(start + area.len).is_some_and(|room| room >= len) {
                break;
            }
            end = end.min(start);
        }
        end.checked_sub(len).filter(|&address| address > 0).ok_or(Errno::ENOMEM)
    }

    /// Unmaps the area that one call mapped.
    pub(crate) fn unmap(&mut self, address: u64) -> Result<(), Errno> {
        let area = self.areas.remove(&address).ok_or(Errno::EINVAL)?;
        if area.is_own() {
            self.own -= area.len;
        }
        Ok(())
    }

    /// Returns whether the process has CAP_SYS_NICE; a simulated one has all capabilities.
    pub(crate) fn may_raise_priority(&self) -> bool {
        self.program.as_ref().is_none_or(|program| program.may_raise_priority())
    }

    /// A number that identifies this address space.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns whether the range is memory without holes, whatever its protection, and contains no device
    /// memory (`probe_range`).
    pub(crate) fn is_memory(&self, address: u64, len: u64) -> bool {
        if self.program_holds(address, len, None) {
            return true;
        }
        self.areas_of(address, len).is_some_and(|areas| areas.iter().all(|area| area.has_struct_pages()))
    }

    /// Returns the serial numbers, which are never reused, of the areas that a range consists of; `None` if
    /// the GPU cannot load from part of it, or store to it if `stores` is set (`pin_user_pages_fast`).
    pub(crate) fn pin(&self, address: u64, len: u64, stores: bool) -> Option<Vec<u64>> {
        if self.program_holds(address, len, Some(if stores { Access::Write } else { Access::Read })) {
            return Some(Vec::new());
        }
        let areas = self.areas_of(address, len)?;
        let fits = |area: &&Area| {
            area.has_struct_pages() && if stores { area.pages.stores() } else { area.pages.loads() }
        };
        areas.iter().all(fits).then(|| areas.iter().map(|area| area.serial).collect())
    }

    /// Returns the parts of a range that can be pinned, in order; `adversary` is for memory that no GPU had
    /// yet.
    ///
    /// # Errors
    /// EFAULT for a hole or a device's memory; allocation errors of the simulating process.
    pub(crate) fn parts(
        &mut self,
        address: u64,
        len: u64,
        adversary: impl Fn() -> Option<Adversary>,
    ) -> Result<Vec<Part>, Errno> {
        let end = address.checked_add(len).ok_or(Errno::EFAULT)?;
        let mut parts = Vec::new();
        if self.program_holds(address, len, None) {
            return Ok(parts);
        }
        let mut at = address;
        while at < end {
            let (start, area) = self.area_mut(at).ok_or(Errno::EFAULT)?;
            let len = (start + area.len).min(end) - at;
            let (backing, first) = area.share(at - start, &adversary)?;
            parts.push(Part { backing, first, len });
            at += len;
        }
        Ok(parts)
    }

    /// Returns the areas of the range; `None` if there are holes.
    fn areas_of(&self, address: u64, len: u64) -> Option<Vec<&Area>> {
        let end = address.checked_add(len)?;
        let mut areas = Vec::new();
        let mut at = address;
        while at < end {
            let (start, area) = self.area(at)?;
            areas.push(area);
            at = start + area.len;
        }
        Some(areas)
    }

    /// Copies from memory; returns the number of bytes before the first unreadable one.
    pub(crate) fn read(&self, address: u64, data: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = data.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = address.checked_add(done as u64) else { break };
            let (read, wanted) = match (self.area(at), &self.program) {
                (Some((start, area)), _) => (area.read(at - start, rest), area.room(at - start, rest.len())),
                (None, Some(program)) => (program.read(at, rest), rest.len()),
                (None, None) => break,
            };
            done += read;
            if read < wanted {
                break;
            }
        }
        done
    }

    /// Copies to memory; returns the number of bytes before the first unwritable one.
    pub(crate) fn write(&mut self, address: u64, data: &[u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = address.checked_add(done as u64) else { break };
            let (written, wanted) = if let Some((start, area)) = self.area_mut(at) {
                (area.write(at - start, rest), area.room(at - start, rest.len()))
            } else if let Some(program) = &self.program {
                (program.write(at, rest), rest.len())
            } else {
                break;
            };
            done += written;
            if written < wanted {
                break;
            }
        }
        done
    }

    pub(crate) fn area(&self, address: u64) -> Option<(u64, &Area)> {
        let (&start, area) = self.areas.range(..=address).next_back()?;
        (address - start < area.len).then_some((start, area))
    }

    /// Returns the mapping of an object at `address`, and the address's offset in it.
    pub(crate) fn window(&self, address: u64) -> Option<(&Window, u64)> {
        let (start, area) = self.area(address)?;
        match &area.backing {
            Backing::Window(window) => Some((window, address - start)),
            Backing::Anonymous(_) | Backing::Shared(_) => None,
        }
    }

    /// Performs `op` on the lines with a byte in the `len` bytes at `address`.
    ///
    /// # Errors
    /// EFAULT where a load would fault.
    pub(crate) fn maintain(&self, address: u64, len: u64, op: LineOp) -> Result<(), Errno> {
        let end = address.checked_add(len).ok_or(Errno::EFAULT)?;
        let mut at = address;
        while at < end {
            let (start, area) = self.area(at).ok_or(Errno::EFAULT)?;
            let piece = (start + area.len).min(end) - at;
            area.maintain(at - start, piece, op)?;
            at += piece;
        }
        Ok(())
    }

    fn area_mut(&mut self, address: u64) -> Option<(u64, &mut Area)> {
        let (&start, area) = self.areas.range_mut(..=address).next_back()?;
        (address - start < area.len).then_some((start, area))
    }

    pub(super) fn overlaps(&self, address: u64, end: u64) -> bool {
        self.areas.range(..end).next_back().is_some_and(|(&start, area)| start + area.len > address)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const AT: u64 = 0x10000;

    #[test]
    fn a_copy_ends_at_the_first_byte_that_may_not_be_touched() {
        let mut memory = Memory::default();
        memory.allocate(AT, 2 * PAGE_BYTES, Pages::ReadWrite).unwrap();
        memory.allocate(AT + 2 * PAGE_BYTES, PAGE_BYTES, Pages::ReadOnly).unwrap();
        memory.allocate(AT + 3 * PAGE_BYTES, PAGE_BYTES, Pages::None).unwrap();
        let edge = AT + 2 * PAGE_BYTES - 4;
        assert_eq!(memory.write(edge, &[7; 10]), 4);
        let mut seen = [1; 10];
        assert_eq!(memory.read(edge, &mut seen), 10);
        assert_eq!(seen, [7, 7, 7, 7, 0, 0, 0, 0, 0, 0]);
        assert_eq!(memory.read(AT + 3 * PAGE_BYTES - 4, &mut seen), 4);
        assert_eq!(memory.read(0, &mut seen), 0);
        assert_eq!(memory.read(u64::MAX - 3, &mut seen), 0);
    }

    /// A program with two bytes of memory, at 0 and 1.
    #[derive(Debug, Default)]
    struct TwoBytes(Mutex<[u8; 2]>);

    impl ProgramMemory for TwoBytes {
        fn read(&self, address: u64, data: &mut [u8]) -> usize {
            let own = self.0.lock().unwrap();
            let from = own.get(address as usize..).unwrap_or_default();
            data.iter_mut().zip(from).map(|(to, from)| *to = *from).count()
        }

        fn write(&self, address: u64, data: &[u8]) -> usize {
            let mut own = self.0.lock().unwrap();
            let to = own.get_mut(address as usize..).unwrap_or_default();
            to.iter_mut().zip(data).map(|(to, from)| *to = *from).count()
        }
    }

    #[test]
    fn a_program_has_its_own_memory_and_mappings_where_it_has_none() {
        let mut memory = Memory::of_program(Arc::<TwoBytes>::default());
        assert_eq!(memory.write(0, &[7, 8, 9]), 2);
        let mut seen = [1; 2];
        assert_eq!((memory.read(1, &mut seen), seen), (1, [8, 1]));
        assert_eq!(memory.read(2, &mut seen), 0);
        assert_eq!(memory.room(PAGE_BYTES).unwrap(), PROGRAM_MAP_BASE - PAGE_BYTES);
        assert!(!memory.is_memory(0, 1) && memory.pin(0, 1, false).is_none(), "no GPU gets it");
    }

    #[test]
    fn memory_is_refused_where_it_cannot_be() {
        let mut memory = Memory::default();
        memory.allocate(AT, PAGE_BYTES, Pages::ReadWrite).unwrap();
        let mut refused = |address, len| memory.allocate(address, len, Pages::ReadWrite).unwrap_err();
        assert_eq!(refused(AT, PAGE_BYTES), Errno::EEXIST);
        assert_eq!(refused(AT - PAGE_BYTES, 2 * PAGE_BYTES), Errno::EEXIST);
        assert_eq!(refused(AT + 1, PAGE_BYTES), Errno::EINVAL);
        assert_eq!(refused(2 * AT, 0), Errno::EINVAL);
        assert_eq!(refused(u64::MAX - 4095, PAGE_BYTES), Errno::EINVAL);
        assert_eq!(refused(2 * AT, 2 << 30), Errno::ENOMEM);
    }
}
