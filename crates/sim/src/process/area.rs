//! One mapping of an address space: its protection, and the bytes after it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use crate::kernel::mappings::window::Window;
use crate::memory::adversary::Adversary;
use crate::memory::backing_store::{AccessContext, BackingStore, Zeroing};
use crate::memory::program::Pages;
use gem_coherency::cacheops::LineOp;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES};
use gem_coherency_memory_model::Route;

/// The memory behind one mapping.
#[derive(Debug)]
pub(crate) enum Backing {
    /// The process's own memory, by page; a page that was never written has no entry.
    Anonymous(BTreeMap<u64, Box<[u8; PAGE_BYTES as usize]>>),
    /// The process's own memory after a GPU got part of it: the CPU is now one of its agents.
    Shared(Arc<Mutex<BackingStore>>),
    /// An object.
    Window(Window),
}

impl Backing {
    /// Returns the same bytes from `offset` on, for another mapping of them.
    ///
    /// # Errors
    /// EINVAL for memory that is the process's own.
    pub(crate) fn part(&self, offset: u64) -> Result<Self, Errno> {
        match self {
            Self::Window(window) => Ok(Self::Window(window.part(offset))),
            Self::Anonymous(_) | Self::Shared(_) => Err(Errno::EINVAL),
        }
    }
}

/// The result of one mapping call.
#[derive(Debug)]
pub(crate) struct Area {
    /// A serial number, in order of creation.
    pub(crate) serial: u64,
    pub(crate) len: u64,
    pub(crate) pages: Pages,
    pub(crate) backing: Backing,
}

impl Area {
    /// Loads from `offset` on; returns the number of bytes before the first unreadable one, or before the area's end.
    pub(crate) fn read(&self, offset: u64, data: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some((at, of_data)) = self.piece(offset, done, data.len()) {
            let len = of_data.len();
            let Some(part) = data.get_mut(of_data).filter(|_| self.pages.loads()) else { break };
            let read = match &self.backing {
                Backing::Anonymous(own) => {
                    match own.get(&(at / PAGE_BYTES)) {
                        Some(page) => part.copy_from_slice(&page[in_page(at, len)]),
                        None => part.fill(0),
                    }
                    Ok(())
                }
                Backing::Shared(backing) => {
                    backing.lock().read(AccessContext::ORDINARY, Route::CpuCached, at, part)
                }
                Backing::Window(window) => window.try_load(at, part),
            };
            if read.is_err() {
                break;
            }
            done += len;
        }
        done
    }

    /// Stores from `offset` on; returns the number of bytes before the first unwritable one, or before the area's end.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> usize {
        let mut done = 0;
        while let Some((at, of_data)) = self.piece(offset, done, data.len()) {
            let len = of_data.len();
            let Some(part) = data.get(of_data).filter(|_| self.pages.stores()) else { break };
            let written = match &mut self.backing {
                Backing::Anonymous(own) => {
                    let page =
                        own.entry(at / PAGE_BYTES).or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
                    page[in_page(at, len)].copy_from_slice(part);
                    Ok(())
                }
                Backing::Shared(backing) => {
                    backing.lock().write(AccessContext::ORDINARY, Route::CpuCached, at, part)
                }
                Backing::Window(window) => window.try_store(at, part),
            };
            if written.is_err() {
                break;
            }
            done += len;
        }
        done
    }

    /// Performs `op` on the lines with a byte in the `len` bytes at `offset`, which lie in the area.
    ///
    /// # Errors
    /// EFAULT where a load would fault.
    pub(crate) fn maintain(&self, offset: u64, len: u64, op: LineOp) -> Result<(), Errno> {
        if !self.pages.loads() {
            return Err(Errno::EFAULT);
        }
        let done = match &self.backing {
            // No other agent sees them.
            Backing::Anonymous(_) => Ok(()),
            Backing::Shared(backing) => {
                let lines = LineRange::new(offset / LINE_BYTES, (offset + len).div_ceil(LINE_BYTES));
                backing.lock().maintain(AccessContext::ORDINARY, lines, op).map(drop)
            }
            Backing::Window(window) => window.maintain(offset, len, op),
        };
        done.map_err(|_| Errno::EFAULT)
    }

    /// Returns how many of `len` bytes at `offset` are in the area.
    pub(crate) fn room(&self, offset: u64, len: usize) -> usize {
        len.min(self.len.saturating_sub(offset) as usize)
    }

    /// Returns the next part of a copy of `len` bytes at `offset` that is in one page: its offset, and its range of the
    /// data. `None` at the end of the copy or of the area.
    fn piece(&self, offset: u64, done: usize, len: usize) -> Option<(u64, Range<usize>)> {
        let at = offset + done as u64;
        let to_page_end = (PAGE_BYTES - at % PAGE_BYTES) as usize;
        let piece = self.room(at, to_page_end.min(len - done));
        (piece > 0).then_some((at, done..done + piece))
    }

    /// Returns whether the kernel has struct pages for it (neither `VM_PFNMAP` nor `VM_IO`).
    pub(crate) fn has_struct_pages(&self) -> bool {
        match &self.backing {
            Backing::Anonymous(_) | Backing::Shared(_) => true,
            Backing::Window(window) => window.has_struct_pages(),
        }
    }

    /// Returns whether it is the process's own memory.
    pub(crate) fn is_own(&self) -> bool {
        match self.backing {
            Backing::Anonymous(_) | Backing::Shared(_) => true,
            Backing::Window(_) => false,
        }
    }

    /// Makes the bytes shareable with a GPU; returns the backing store and the offset in it.
    ///
    /// # Errors
    /// EFAULT for a device's memory; allocation errors of the simulating process.
    pub(crate) fn share(
        &mut self,
        offset: u64,
        adversary: &dyn Fn() -> Option<Adversary>,
    ) -> Result<(Arc<Mutex<BackingStore>>, u64), Errno> {
        match &self.backing {
            Backing::Window(window) => window.file(offset).ok_or(Errno::EFAULT),
            Backing::Shared(backing) => Ok((Arc::clone(backing), offset)),
            Backing::Anonymous(pages) => {
                let mut backing = BackingStore::new(self.len, Zeroing::Cpu, adversary());
                for (page, bytes) in pages {
                    let at = page * PAGE_BYTES;
                    let copied =
                        backing.write(AccessContext::ORDINARY, Route::CpuCached, at, bytes.as_slice());
                    copied.map_err(|error| error.errno())?;
                }
                let backing = Arc::new(Mutex::new(backing));
                self.backing = Backing::Shared(Arc::clone(&backing));
                Ok((backing, offset))
            }
        }
    }
}

/// Returns the `len` bytes at `offset`, which are in one page, as a range within it.
fn in_page(offset: u64, len: usize) -> Range<usize> {
    let first = (offset % PAGE_BYTES) as usize;
    first..first + len
}
