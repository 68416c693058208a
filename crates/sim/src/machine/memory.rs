//! The process's address space: its own pages, and mappings of objects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gem_coherency::Errno;

use crate::machine::adversary::Adversary;
use crate::machine::store::{Store, Terms, Zeroing};
use crate::machine::window::Window;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency_hierarchy::Route;

/// Page protection (`PROT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Loads and stores.
    ReadWrite,
    /// Loads only.
    ReadOnly,
    /// No access.
    None,
    /// Loads, stores and execution: PROT_EXEC.
    Executable,
}

impl Pages {
    fn loads(self) -> bool {
        match self {
            Self::ReadWrite | Self::ReadOnly | Self::Executable => true,
            Self::None => false,
        }
    }

    /// Returns whether stores are allowed.
    pub(crate) fn stores(self) -> bool {
        match self {
            Self::ReadWrite | Self::Executable => true,
            Self::ReadOnly | Self::None => false,
        }
    }
}

/// One past the last address of a process (`TASK_SIZE_MAX` with four page-table levels).
pub(crate) const USER_END: u64 = (1 << 47) - PAGE_BYTES;
/// The address where the downward search for room for a mapping starts (`mmap_base`).
const MAP_BASE: u64 = 0x7fff_0000_0000;
/// Limit of a process's own memory in bytes, so that a simulated process cannot exhaust the host.
const MOST_BYTES: u64 = 1 << 30;

/// The memory behind one mapping.
#[derive(Debug)]
enum Backing {
    /// The process's own memory, by page; a page that was never written has no entry.
    Anonymous(BTreeMap<u64, Box<[u8; PAGE_BYTES as usize]>>),
    /// The process's own memory after a GPU got part of it: the CPU is now one of its agents.
    Shared(Arc<Mutex<Store>>),
    /// An object.
    Window(Window),
}

/// Memory that a GPU got.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) store: Arc<Mutex<Store>>,
    /// The first byte's offset in the store.
    pub(crate) first: u64,
    pub(crate) len: u64,
}

/// The result of one mapping call.
#[derive(Debug)]
struct Area {
    /// A serial number, in order of creation.
    serial: u64,
    len: u64,
    pages: Pages,
    backing: Backing,
}

/// An address space.
#[derive(Debug)]
pub(crate) struct Memory {
    id: u64,
    areas: BTreeMap<u64, Area>,
    /// Bytes of the process's own memory.
    own: u64,
    /// Number of areas created so far.
    made: u64,
}

/// Number of address spaces created so far.
static SPACES: AtomicU64 = AtomicU64::new(0);

impl Default for Memory {
    fn default() -> Self {
        // Relaxed: a unique number; it publishes no other data.
        Self { id: SPACES.fetch_add(1, Ordering::Relaxed), areas: BTreeMap::new(), own: 0, made: 0 }
    }
}

impl Memory {
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
    pub(crate) fn map(&mut self, window: Window, len: u64, pages: Pages) -> Result<u64, Errno> {
        let address = self.room(len)?;
        self.insert(address, len, pages, Backing::Window(window));
        Ok(address)
    }

    fn insert(&mut self, address: u64, len: u64, pages: Pages, backing: Backing) {
        self.made += 1;
        self.areas.insert(address, Area { serial: self.made, len, pages, backing });
    }

    /// Finds room for `len` bytes, a whole number of pages.
    ///
    /// # Errors
    /// ENOMEM.
    pub(crate) fn room(&self, len: u64) -> Result<u64, Errno> {
        let mut end = MAP_BASE;
        for (&start, area) in self.areas.range(..MAP_BASE).rev() {
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

    /// A number that identifies this address space.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns whether the range is memory without holes, whatever its protection, and contains no device
    /// memory (`probe_range`).
    pub(crate) fn is_memory(&self, address: u64, len: u64) -> bool {
        self.areas_of(address, len).is_some_and(|areas| areas.iter().all(|area| area.has_struct_pages()))
    }

    /// Returns the serial numbers, which are never reused, of the areas that a range consists of; `None` if
    /// the GPU cannot load from part of it, or store to it if `stores` is set (`pin_user_pages_fast`).
    pub(crate) fn pin(&self, address: u64, len: u64, stores: bool) -> Option<Vec<u64>> {
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
        let mut at = address;
        while at < end {
            let (start, area) = self.area_mut(at).ok_or(Errno::EFAULT)?;
            let len = (start + area.len).min(end) - at;
            let (store, first) = area.share(at - start, &adversary)?;
            parts.push(Part { store, first, len });
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
            let Some((start, area)) = self.area(at).filter(|(_, area)| area.pages.loads()) else { break };
            let offset = at - start;
            let len = piece(offset, area.len, rest.len());
            let Some(part) = rest.get_mut(..len) else { break };
            match &area.backing {
                Backing::Anonymous(own) => match own.get(&(offset / PAGE_BYTES)) {
                    Some(page) => part.copy_from_slice(&page[in_page(offset, len)]),
                    None => part.fill(0),
                },
                Backing::Shared(store) => {
                    if lock(store).read(Terms::ORDINARY, Route::CpuCached, offset, part).is_err() {
                        break;
                    }
                }
                Backing::Window(window) => {
                    if window.try_load(offset, part).is_err() {
                        break;
                    }
                }
            }
            done += len;
        }
        done
    }

    /// Copies to memory; returns the number of bytes before the first unwritable one.
    pub(crate) fn write(&mut self, address: u64, data: &[u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = address.checked_add(done as u64) else { break };
            let Some((start, area)) = self.area_mut(at).filter(|(_, area)| area.pages.stores()) else {
                break;
            };
            let offset = at - start;
            let len = piece(offset, area.len, rest.len());
            let Some(part) = rest.get(..len) else { break };
            match &mut area.backing {
                Backing::Anonymous(own) => {
                    let page =
                        own.entry(offset / PAGE_BYTES).or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
                    page[in_page(offset, len)].copy_from_slice(part);
                }
                Backing::Shared(store) => {
                    if lock(store).write(Terms::ORDINARY, Route::CpuCached, offset, part).is_err() {
                        break;
                    }
                }
                Backing::Window(window) => {
                    if window.try_store(offset, part).is_err() {
                        break;
                    }
                }
            }
            done += len;
        }
        done
    }

    fn area(&self, address: u64) -> Option<(u64, &Area)> {
        let (&start, area) = self.areas.range(..=address).next_back()?;
        (address - start < area.len).then_some((start, area))
    }

    fn area_mut(&mut self, address: u64) -> Option<(u64, &mut Area)> {
        let (&start, area) = self.areas.range_mut(..=address).next_back()?;
        (address - start < area.len).then_some((start, area))
    }

    fn overlaps(&self, address: u64, end: u64) -> bool {
        self.areas.range(..end).next_back().is_some_and(|(&start, area)| start + area.len > address)
    }
}

impl Area {
    /// Returns whether the kernel has struct pages for it (neither `VM_PFNMAP` nor `VM_IO`).
    fn has_struct_pages(&self) -> bool {
        match &self.backing {
            Backing::Anonymous(_) | Backing::Shared(_) => true,
            Backing::Window(window) => window.has_struct_pages(),
        }
    }

    fn is_own(&self) -> bool {
        match self.backing {
            Backing::Anonymous(_) | Backing::Shared(_) => true,
            Backing::Window(_) => false,
        }
    }

    /// Makes the bytes shareable with a GPU; returns the store and the offset in it.
    ///
    /// # Errors
    /// EFAULT for a device's memory; allocation errors of the simulating process.
    fn share(
        &mut self,
        offset: u64,
        adversary: &dyn Fn() -> Option<Adversary>,
    ) -> Result<(Arc<Mutex<Store>>, u64), Errno> {
        match &self.backing {
            Backing::Window(window) => window.file(offset).ok_or(Errno::EFAULT),
            Backing::Shared(store) => Ok((Arc::clone(store), offset)),
            Backing::Anonymous(pages) => {
                let mut store = Store::new(self.len, Zeroing::Cpu, adversary());
                for (page, bytes) in pages {
                    let at = page * PAGE_BYTES;
                    let copied = store.write(Terms::ORDINARY, Route::CpuCached, at, bytes.as_slice());
                    copied.map_err(|error| error.errno())?;
                }
                let store = Arc::new(Mutex::new(store));
                self.backing = Backing::Shared(Arc::clone(&store));
                Ok((store, offset))
            }
        }
    }
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns how many bytes of `len` at `offset` are in the same page.
fn piece(offset: u64, area: u64, len: usize) -> usize {
    let to_page_end = PAGE_BYTES - offset % PAGE_BYTES;
    len.min(to_page_end.min(area - offset) as usize)
}

/// Returns those bytes as a range within the page.
fn in_page(offset: u64, len: usize) -> std::ops::Range<usize> {
    let first = (offset % PAGE_BYTES) as usize;
    first..first + len
}

#[cfg(test)]
mod tests {
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
