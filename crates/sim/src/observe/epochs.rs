//! Stores of programs to write-combining mappings that may not have left the CPU when a batch reads them.
//!
//! The stores of two epochs are ordered: a fence, or a request, drains the CPU's write-combining buffers in between. Those of one are not. A batch
//! that waited for a store reads others of its epoch too early. Here every store is seen at once: what is read too early is logged, and has
//! the right bytes.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// The stores of programs to write-combining mappings, and to what batches poll, by epochs: the times between two drains of the CPU's
/// write-combining buffers.
pub trait StoreEpochs: fmt::Debug + Send + Sync {
    /// Returns the number of the last epoch in which a page of an object was stored to, and the offsets of the dwords that were, of those that `now`
    /// has from an offset on; `None` if none of these was. The offset is that of a dword, and all are in one page.
    fn last(&self, object: u64, offset: u64, now: &[u32]) -> Option<(u64, Vec<u64>)>;

    /// Takes note of a write by another agent, in one page: it is no store of a program.
    fn overwrite(&self, object: u64, offset: u64, new: &[u8]);

    /// Takes note that a batch polls a dword: stores to it are to be seen, by whatever mapping.
    fn polls(&self, object: u64, offset: u64);
}

/// The stores that a device is told of.
#[derive(Debug, Default)]
pub(crate) struct Epochs(OnceLock<Arc<dyn StoreEpochs>>);

impl Epochs {
    /// Sets the stores; a second time changes nothing.
    pub(crate) fn set(&self, epochs: Arc<dyn StoreEpochs>) {
        // Fails if they are set.
        let _ = self.0.set(epochs);
    }

    /// Returns the stores; `None` if the device is told of none.
    pub(crate) fn get(&self) -> Option<&dyn StoreEpochs> {
        self.0.get().map(AsRef::as_ref)
    }
}

/// A poll that has succeeded: the batch goes on because of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polled {
    /// The object, and the offset of the dword in it.
    pub(crate) at: (u64, u64),
    /// The epoch of the store.
    pub(crate) epoch: u64,
}
