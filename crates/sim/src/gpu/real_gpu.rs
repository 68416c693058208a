//! A real GPU that runs a device's batches.
//!
//! Each batch runs twice: on the real GPU, whose results count, and on the simulated one, for the effects of its accesses
//! on the simulated caches. The real GPU gets the bytes that the simulated one would see, and runs first; its results
//! are then written on the simulated GPU's route, where they differ from what the simulated GPU wrote.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use crate::kernel::counterpart::Counterpart;
use crate::kernel::objects::object::{Object, Origin};
use crate::memory::backing_store::AccessContext;
use gem_coherency::error::Result;
use gem_coherency::platform::Engine;
use gem_coherency::vocabulary::{CacheLevel, MocsClass};
use gem_coherency_memory_model::Route;

/// The route of the real GPU's accesses.
const GPU: Route = Route::Gpu(MocsClass::PageTable);

/// A real GPU that runs the batches of a device ([`SimDevice::set_real_gpu`](crate::SimDevice::set_real_gpu)).
pub trait RealGpu: fmt::Debug + Send + Sync {
    /// Runs a batch, and returns when it has ended.
    ///
    /// # Errors
    /// The errno of the kernel's refusal, which the submitting request gets.
    fn run(&self, work: &Work<'_>) -> Result<Ended, Errno>;

    /// Writes what the batch wrote to the operands. `simulated` is what the simulated GPU wrote meanwhile.
    ///
    /// # Errors
    /// If results cannot be read or written; the batch then counts as hung.
    fn write_results(&self, work: &Work<'_>, simulated: &[Written]) -> Result<(), Errno>;
}

/// The end of a batch on a real GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is done.
    Done,
    /// It hung, and the kernel reset the engine.
    Hung,
}

/// A batch with its operands.
#[derive(Debug)]
pub struct Work<'a> {
    /// The objects of the submission, in its order.
    pub operands: &'a [Operand],
    /// The engine.
    pub engine: Engine,
    /// The context's queue: a number that no other queue of the context has.
    pub queue: u64,
    /// The context continues after a hang.
    pub recoverable: bool,
    /// The flags of EXECBUFFER2.
    pub flags: u64,
    /// The offset of the first command in its object.
    pub start: u32,
    /// Bytes of the batch; 0 for the rest of its object.
    pub len: u32,
    /// The context's counterpart.
    pub context: &'a Counterpart,
    /// The address space's counterpart.
    pub space: &'a Counterpart,
}

/// Bytes of an operand that the simulated GPU wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The object's number.
    pub object: u64,
    /// The bytes.
    pub range: Range<u64>,
}

/// An object of a device with a real GPU, as a submission uses it.
#[derive(Clone, Debug)]
pub struct Operand {
    pub(crate) object: Arc<Object>,
    /// The address in the GPU's address space, in canonical form.
    pub address: u64,
    /// `EXEC_OBJECT_*`.
    pub flags: u64,
    /// Size to pad to, with `EXEC_OBJECT_PAD_TO_SIZE`; otherwise 0.
    pub pad_to: u64,
}

impl Operand {
    /// Returns the object's number on the device.
    pub fn number(&self) -> u64 {
        self.object.id()
    }

    /// Returns the object's size in bytes, a whole number of pages.
    pub fn size(&self) -> u64 {
        self.object.size()
    }

    /// Returns the object's level.
    pub fn level(&self) -> CacheLevel {
        self.object.state().snapshot.level
    }

    /// Returns the PAT index that the program chose.
    pub fn pat_index(&self) -> Option<u8> {
        self.object.state().snapshot.user_pat
    }

    /// Returns whether the object consists of a program's own pages (USERPTR).
    pub fn is_user(&self) -> bool {
        matches!(self.object.origin, Origin::User(_))
    }

    /// Returns the object's counterpart.
    pub fn counterpart(&self) -> &Counterpart {
        &self.object.counterpart
    }

    /// Reads the bytes that the GPU would see, without an effect on the caches.
    ///
    /// # Errors
    /// [`gem_coherency::Error::RangeOutOfBounds`]; EFAULT for a program's pages that are gone.
    pub fn look(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let state = self.object.state();
        let ctx = AccessContext { watch: None, ..self.object.access_context(&state) };
        match &self.object.origin {
            Origin::Own | Origin::Attached(_) => {
                let mut backing = self.object.backing();
                backing.absorb()?;
                backing.look(ctx, GPU, offset, data)
            }
            Origin::User(_) => self.object.read(ctx, GPU, offset, data),
        }
    }

    /// Writes as the GPU does.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let state = self.object.state();
        let ctx = self.object.access_context(&state);
        self.object.write(ctx, GPU, offset, data)
    }
}

/// A batch that a real GPU runs.
#[derive(Debug)]
pub(crate) struct OnRealGpu {
    pub(crate) gpu: Arc<dyn RealGpu>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) flags: u64,
    pub(crate) start: u32,
    pub(crate) len: u32,
    /// The errno of the kernel's refusal.
    pub(crate) refused: Arc<OnceLock<Errno>>,
}

/// The log of what the simulated GPU writes, if a real one runs the batch, too.
#[derive(Debug, Default)]
pub(crate) struct WriteLog(Option<Mutex<Vec<Written>>>);

impl WriteLog {
    /// Creates a log that keeps entries.
    pub(crate) fn on() -> Self {
        Self(Some(Mutex::default()))
    }

    /// Adds the bytes of an object.
    pub(crate) fn add(&self, object: u64, range: Range<u64>) {
        let Some(log) = &self.0 else { return };
        let mut log = log.lock();
        match log.last_mut() {
            Some(last) if last.object == object && last.range.end == range.start => {
                last.range.end = range.end
            }
            Some(_) | None => log.push(Written { object, range }),
        }
    }

    /// Returns and clears the entries.
    pub(crate) fn take(&self) -> Vec<Written> {
        self.0.as_ref().map(|log| std::mem::take(&mut *log.lock())).unwrap_or_default()
    }
}
