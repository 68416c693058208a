//! Open files by descriptor.

use std::collections::BTreeMap;
use std::sync::Arc;

use gem_coherency::Errno;

use crate::Soft;
use crate::machine::dma_buf::DmaBuf;
use crate::machine::numbers::Numbers;
use crate::machine::syncobj::{Fence, Syncobj};

/// An open file.
#[derive(Clone, Debug)]
pub(crate) enum File {
    /// A device.
    Device(Arc<Soft>),
    /// A dma-buf.
    DmaBuf(Arc<DmaBuf>),
    /// A fence (a sync file).
    Fence(Fence),
    /// A syncobj.
    Syncobj(Arc<Syncobj>),
}

/// The descriptor table.
#[derive(Debug)]
pub(crate) struct Files {
    open: BTreeMap<i32, File>,
    free: Numbers,
}

impl Default for Files {
    fn default() -> Self {
        Self::from(0)
    }
}

impl Files {
    /// Creates a table whose lowest descriptor is `first`.
    pub(crate) fn from(first: u32) -> Self {
        Self { open: BTreeMap::new(), free: Numbers::new(first..=i32::MAX as u32) }
    }

    /// Gives the file the lowest free descriptor.
    pub(crate) fn install(&mut self, file: File) -> i32 {
        let fd = self.free.take().map_or(i32::MAX, |fd| fd as i32);
        self.open.insert(fd, file);
        fd
    }

    /// Returns the file of a descriptor.
    ///
    /// # Errors
    /// EBADF.
    pub(crate) fn get(&self, fd: i32) -> Result<&File, Errno> {
        self.open.get(&fd).ok_or(Errno::EBADF)
    }

    /// Returns the dma-buf of a descriptor (`dma_buf_get`).
    ///
    /// # Errors
    /// EBADF; EINVAL for another kind of file.
    pub(crate) fn dma_buf(&self, fd: i32) -> Result<Arc<DmaBuf>, Errno> {
        match self.get(fd)? {
            File::DmaBuf(dma_buf) => Ok(Arc::clone(dma_buf)),
            File::Device(_) | File::Fence(_) | File::Syncobj(_) => Err(Errno::EINVAL),
        }
    }

    /// Closes a descriptor.
    ///
    /// # Errors
    /// EBADF.
    pub(crate) fn remove(&mut self, fd: i32) -> Result<File, Errno> {
        let file = self.open.remove(&fd).ok_or(Errno::EBADF)?;
        self.free.give(fd as u32);
        Ok(file)
    }
}
