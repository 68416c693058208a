//! Open files by descriptor.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use gem_coherency::Errno;

use crate::kernel::numbers::Numbers;
use crate::kernel::objects::dma_buf::Opened;
use crate::sync::eventfd::EventFile;
use crate::sync::fence::Fence;
use crate::sync::syncobj::Syncobj;
use crate::{Minor, SimDevice};

/// An open file.
#[derive(Clone, Debug)]
pub(crate) enum File {
    /// A device.
    Device(Arc<SimDevice>),
    /// A dma-buf.
    DmaBuf(Arc<Opened>),
    /// A fence (a sync file).
    Fence(Fence),
    /// A syncobj.
    Syncobj(Arc<Syncobj>),
}

/// The open files of a program that is not simulated, which its own kernel gives descriptors.
pub trait ProgramFiles: Debug + Send + Sync {
    /// Returns the file of a descriptor.
    ///
    /// # Errors
    /// EBADF if it is not open; EINVAL for a file of another driver.
    fn file(&self, fd: i32) -> Result<OpenFile, Errno>;

    /// Gives the file a descriptor.
    ///
    /// # Errors
    /// EMFILE, or another errno of the program's kernel.
    fn install(&self, file: OpenFile, close_on_exec: bool) -> Result<i32, Errno>;

    /// Returns the eventfd of a descriptor.
    ///
    /// # Errors
    /// EBADF if it is not open; EINVAL for another kind of file (`eventfd_ctx_fdget`).
    fn event(&self, fd: i32) -> Result<Arc<dyn EventFile>, Errno>;
}

/// An open file of a software device: a device, a dma-buf, a fence or a syncobj.
#[derive(Clone, Debug)]
pub struct OpenFile(pub(crate) File);

/// The kind of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A device, and the node by which it was opened.
    Device(Minor),
    /// A dma-buf of this many bytes.
    DmaBuf(u64),
    /// A fence (a sync file).
    Fence,
    /// A syncobj.
    Syncobj,
}

impl OpenFile {
    /// Returns an open file of a device.
    pub fn of_device(device: Arc<SimDevice>) -> Self {
        Self(File::Device(device))
    }

    /// Returns the device, for functions that are not requests; `None` for other files.
    pub fn device(&self) -> Option<&Arc<SimDevice>> {
        match &self.0 {
            File::Device(device) => Some(device),
            File::DmaBuf(_) | File::Fence(_) | File::Syncobj(_) => None,
        }
    }

    /// Returns the kind of the file.
    pub fn kind(&self) -> FileKind {
        match &self.0 {
            File::Device(device) => FileKind::Device(device.minor),
            File::DmaBuf(dma_buf) => FileKind::DmaBuf(dma_buf.size()),
            File::Fence(_) => FileKind::Fence,
            File::Syncobj(_) => FileKind::Syncobj,
        }
    }
}

/// The descriptor table.
#[derive(Debug)]
pub(crate) enum Files {
    /// A table of this process.
    Own {
        /// The files by descriptor.
        open: BTreeMap<i32, File>,
        /// The free descriptors.
        free: Numbers,
    },
    /// The table of a program that is not simulated.
    Program(Arc<dyn ProgramFiles>),
}

impl Default for Files {
    fn default() -> Self {
        Self::from(0)
    }
}

impl Files {
    /// Creates a table whose lowest descriptor is `first`.
    pub(crate) fn from(first: u32) -> Self {
        Self::Own { open: BTreeMap::new(), free: Numbers::new(first..=i32::MAX as u32) }
    }

    /// Gives the file the lowest free descriptor.
    ///
    /// # Errors
    /// EMFILE; those of the program.
    pub(crate) fn install(&mut self, file: File, close_on_exec: bool) -> Result<i32, Errno> {
        match self {
            Self::Own { open, free } => {
                let fd = free.take().ok_or(Errno::EMFILE)? as i32;
                open.insert(fd, file);
                Ok(fd)
            }
            Self::Program(files) => files.install(OpenFile(file), close_on_exec),
        }
    }

    /// Returns the file of a descriptor.
    ///
    /// # Errors
    /// EBADF; EINVAL for a program's file of another driver.
    pub(crate) fn get(&self, fd: i32) -> Result<File, Errno> {
        match self {
            Self::Own { open, .. } => open.get(&fd).cloned().ok_or(Errno::EBADF),
            Self::Program(files) => files.file(fd).map(|file| file.0),
        }
    }

    /// Returns the device of a descriptor of this table.
    pub(crate) fn device(&self, fd: i32) -> Option<&SimDevice> {
        match self {
            Self::Own { open, .. } => match open.get(&fd)? {
                File::Device(device) => Some(device),
                File::DmaBuf(_) | File::Fence(_) | File::Syncobj(_) => None,
            },
            Self::Program(_) => None,
        }
    }

    /// Returns the dma-buf of a descriptor (`dma_buf_get`).
    ///
    /// # Errors
    /// EBADF; EINVAL for another kind of file.
    pub(crate) fn dma_buf(&self, fd: i32) -> Result<Arc<Opened>, Errno> {
        match self.get(fd)? {
            File::DmaBuf(dma_buf) => Ok(dma_buf),
            File::Device(_) | File::Fence(_) | File::Syncobj(_) => Err(Errno::EINVAL),
        }
    }

    /// Returns the eventfd of a descriptor; a table of this process has none.
    ///
    /// # Errors
    /// EBADF; EINVAL for another kind of file.
    pub(crate) fn event(&self, fd: i32) -> Result<Arc<dyn EventFile>, Errno> {
        match self {
            Self::Own { open, .. } => Err(if open.contains_key(&fd) { Errno::EINVAL } else { Errno::EBADF }),
            Self::Program(files) => files.event(fd),
        }
    }

    /// Closes a descriptor.
    ///
    /// # Errors
    /// EBADF, also for a program's descriptor, which only the program closes.
    pub(crate) fn remove(&mut self, fd: i32) -> Result<File, Errno> {
        match self {
            Self::Own { open, free } => {
                let file = open.remove(&fd).ok_or(Errno::EBADF)?;
                free.give(fd as u32);
                Ok(file)
            }
            Self::Program(_) => Err(Errno::EBADF),
        }
    }
}
