//! Programs that are not simulated: their own memory, and mappings of objects at their addresses.

use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::Access;

use super::backing_store::BackingStore;
use super::views::Views;

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
    /// Returns whether loads are allowed.
    pub(crate) fn loads(self) -> bool {
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

    /// Returns whether the program has CAP_SYS_NICE.
    fn may_raise_priority(&self) -> bool {
        true
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
    backing: Arc<Mutex<BackingStore>>,
    space: u64,
}

impl Presence {
    /// Notes a mapping of an object's bytes in an address space.
    pub(crate) fn new(backing: &Arc<Mutex<BackingStore>>, space: u64) -> Arc<Self> {
        backing.lock().mapped_in.push(space);
        Arc::new(Self { backing: Arc::clone(backing), space })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mapped_in = &mut self.backing.lock().mapped_in;
        if let Some(at) = mapped_in.iter().position(|space| *space == self.space) {
            mapped_in.swap_remove(at);
        }
    }
}

impl BackingStore {
    /// Returns whether programs in other address spaces than `space` have mappings.
    pub(crate) fn is_mapped_by_others(&self, space: u64) -> bool {
        self.mapped_in.iter().any(|other| *other != space)
    }
}
