//! Property blobs (`drm_property.c`): bytes with an id, which files create and display state refers to.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use gem_coherency::Errno;

use crate::kernel::numbers::Numbers;

/// The ids of blobs; those of framebuffers are lower.
const IDS: std::ops::RangeInclusive<u32> = 0x4000_0000..=i32::MAX as u32;
/// The largest blob in bytes.
const MOST_BYTES: usize = i32::MAX as usize - 128;

/// A blob; it exists until its file destroyed it and no state refers to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) id: u32,
    pub(crate) data: Vec<u8>,
}

/// The blobs of a device.
#[derive(Debug)]
pub(crate) struct Blobs {
    all: BTreeMap<u32, Weak<Blob>>,
    /// The blobs that files created, with the files' numbers.
    own: Vec<(u64, Arc<Blob>)>,
    ids: Numbers,
}

impl Default for Blobs {
    fn default() -> Self {
        Self { all: BTreeMap::new(), own: Vec::new(), ids: Numbers::new(IDS) }
    }
}

impl Blobs {
    /// Checks the length of a new blob (`drm_property_create_blob`).
    ///
    /// # Errors
    /// EINVAL.
    pub(crate) fn check_length(length: usize) -> Result<(), Errno> {
        if (1..=MOST_BYTES).contains(&length) { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Creates a blob that only the caller refers to (`drm_property_create_blob`).
    ///
    /// # Errors
    /// ENOSPC if no id is left.
    pub(crate) fn create(&mut self, data: Vec<u8>) -> Result<Arc<Blob>, Errno> {
        let Self { all, ids, .. } = self;
        all.retain(|&id, blob| {
            let exists = blob.strong_count() > 0;
            if !exists {
                ids.give(id);
            }
            exists
        });
        let id = ids.take().ok_or(Errno::ENOSPC)?;
        let blob = Arc::new(Blob { id, data });
        all.insert(id, Arc::downgrade(&blob));
        Ok(blob)
    }

    /// Makes a file the blob's owner.
    pub(crate) fn own(&mut self, file: u64, blob: Arc<Blob>) {
        self.own.push((file, blob));
    }

    /// Returns a blob (`drm_property_lookup_blob`).
    pub(crate) fn find(&self, id: u32) -> Option<Arc<Blob>> {
        self.all.get(&id).and_then(Weak::upgrade)
    }

    /// Drops the reference of the file that created the blob (`drm_mode_destroyblob_ioctl`).
    ///
    /// # Errors
    /// ENOENT; EPERM for another file's.
    pub(crate) fn destroy(&mut self, file: u64, id: u32) -> Result<(), Errno> {
        self.find(id).ok_or(Errno::ENOENT)?;
        let place = self.own.iter().position(|(owner, blob)| *owner == file && blob.id == id);
        self.own.remove(place.ok_or(Errno::EPERM)?);
        Ok(())
    }

    /// Drops the references of a file that is closed (`drm_property_destroy_user_blobs`).
    pub(crate) fn release(&mut self, file: u64) {
        self.own.retain(|(owner, _)| *owner != file);
    }
}
