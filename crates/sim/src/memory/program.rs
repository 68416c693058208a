//! Programs that are not simulated: their own memory, and mappings of objects at their addresses.

use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gem_coherency::Errno;
use gem_coherency::vocabulary::Access;

use crate::kernel::objects::window::Window;
use crate::memory::store::Store;
use crate::memory::views::Views;
use crate::process::area::{Backing, Pages};
use crate::process::memory::Memory;

/// The memory of a program that is not simulated but makes requests to a software device.
pub trait ProgramMemory: Debug + Send + Sync {
    /// Copies from memory; returns the number of bytes before the first unreadable one.
    fn read(&self, address: u64, data: &mut [u8]) -> usize;

    /// Copies to memory; returns the number of bytes before the first unwritable one.
    fn write(&self, address: u64, data: &[u8]) -> usize;

    /// Returns whether the range is memory without holes that allows an access by the program (`FOLL_WRITE` for stores): the GPU may then
    /// access it so, too. `None` is for memory whatever it allows.
    fn holds(&self, _address: u64, _len: u64, _allows: Option<Access>) -> bool {
        false
    }

    /// Maps `len` bytes of an object in the program, in place of its mapping at `at` if there is an address; returns the
    /// address, or `None` for an address that no program has.
    ///
    /// # Errors
    /// ENOMEM, or another errno of the program's mmap(2).
    fn map(&self, _shown: Shown, _len: u64, _pages: Pages, _at: Option<u64>) -> Result<Option<u64>, Errno> {
        Ok(None)
    }
}

/// What a program's mapping of an object shows.
#[derive(Debug)]
pub enum Shown {
    /// Bytes.
    Bytes(Views),
    /// The bytes of a tiled object in linear order, as the aperture shows them. No line of the object is among them.
    Linear {
        /// A file of these bytes, which the device brings up to date at requests.
        bytes: OwnedFd,
        /// The offset, in the file, of the first byte.
        offset: u64,
        /// As [`Views::object`].
        object: u64,
    },
    /// Nothing of the object with this number: a touch raises SIGBUS.
    Nothing(u64),
}

/// A program's mapping of an object, which all its parts share.
#[derive(Debug)]
pub(crate) struct Presence {
    store: Arc<Mutex<Store>>,
    space: u64,
}

impl Presence {
    /// Notes a mapping of an object's bytes in an address space.
    fn new(store: &Arc<Mutex<Store>>, space: u64) -> Arc<Self> {
        lock(store).mapped_in.push(space);
        Arc::new(Self { store: Arc::clone(store), space })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mapped_in = &mut lock(&self.store).mapped_in;
        if let Some(at) = mapped_in.iter().position(|space| *space == self.space) {
            mapped_in.swap_remove(at);
        }
    }
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Window {
    /// Notes that it is a program's mapping in an address space.
    pub(super) fn be_in(&mut self, space: u64) {
        self.presence = Some(Presence::new(self.shared_store(), space));
    }
}

impl Store {
    /// Returns whether programs in other address spaces than `space` have mappings.
    pub(crate) fn is_mapped_by_others(&self, space: u64) -> bool {
        self.mapped_in.iter().any(|other| *other != space)
    }
}

impl Memory {
    /// Creates the address space of a child process: the same mappings of objects, and its memory `program`.
    ///
    /// # Errors
    /// EINVAL if there is memory other than the program's and its mappings.
    pub(crate) fn fork(&self, program: Arc<dyn ProgramMemory>) -> Result<Self, Errno> {
        let mut child = Self::of_program(program);
        for (&start, area) in &self.areas {
            let mut backing = area.backing.part(0)?;
            if let Backing::Window(window) = &mut backing {
                window.be_in(child.id());
            }
            child.insert(start, area.len, area.pages, backing);
        }
        Ok(child)
    }

    /// Returns whether the range is a program's own memory that allows an access; `None` is for whatever it allows.
    pub(super) fn program_holds(&self, address: u64, len: u64, allows: Option<Access>) -> bool {
        let end = address.saturating_add(len);
        self.program
            .as_ref()
            .is_some_and(|program| !self.overlaps(address, end) && program.holds(address, len, allows))
    }

    /// Returns the memory of a program that is not simulated.
    pub(crate) fn program(&self) -> Option<Arc<dyn ProgramMemory>> {
        self.program.clone()
    }
}
