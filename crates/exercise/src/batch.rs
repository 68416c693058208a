//! Batches of stores, fills and copies of BOs: built, prepared, submitted and waited for.

use crate::Result;
use crate::commands::{Builder, Dialect, Extent, Field, Memory, Surface};
use crate::submission::{Objects, Submitted};
use gem_coherency::device::Device;
use gem_coherency::object::Bo;
use gem_coherency::platform::Caps;
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, CacheLevel};

/// Bytes per row when a range is copied or filled by rows.
const ROW: u64 = 4096;
/// Largest number of rows of one command.
const MOST_ROWS: u64 = 8192;

/// Rows of bytes in a BO that a batch reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    pub(crate) bo: &'a Bo,
    pub(crate) offset: u64,
    pitch: u32,
    pub(crate) mocs: Option<u8>,
}

impl<'a> Region<'a> {
    /// Creates a region at byte `offset` of `bo`, for one row or rows of 4096 bytes; caching follows the page
    /// table.
    pub const fn new(bo: &'a Bo, offset: u64) -> Self {
        Self { bo, offset, pitch: ROW as u32, mocs: None }
    }

    /// Sets the pitch in bytes.
    pub const fn pitch(self, bytes: u32) -> Self {
        Self { pitch: bytes, ..self }
    }

    /// Sets the MOCS entry, for commands that can name one ([`Batch::names_mocs`]).
    pub const fn mocs(self, index: u8) -> Self {
        Self { mocs: Some(index), ..self }
    }

    /// Returns the region `start` bytes further on, with rows of 4096 bytes without gaps.
    const fn piece(self, start: u64) -> Self {
        Self { offset: self.offset + start, pitch: ROW as u32, ..self }
    }
}

/// A batch of stores, fills and copies under construction; its commands execute in order.
///
/// ```
/// use gem_coherency::device::{AllocRequest, Device};
/// use gem_coherency_exercise::{Batch, Region};
///
/// # gem_coherency_sim::link();
/// let device = Device::open("sim:tgl")?;
/// let bo = device.alloc(AllocRequest::new(8192))?;
/// let mut batch = Batch::new(&device)?;
/// batch.fill_range(Region::new(&bo, 0), 4096, 0x0102_0304)?;
/// batch.copy_range(Region::new(&bo, 4096), Region::new(&bo, 0), 4096)?;
/// batch.submit()?.wait(None)?;
///
/// let mut bytes = [0; 4];
/// bo.read(8188, 4)?.read_at(8188, &mut bytes)?;
/// assert_eq!(bytes, [4, 3, 2, 1]);
/// # Ok::<(), gem_coherency_exercise::Error>(())
/// ```
#[derive(Debug)]
pub struct Batch {
    builder: Builder,
    /// The builder's buffers.
    objects: Objects,
}

impl Batch {
    /// Begins a batch for `device`.
    ///
    /// # Errors
    /// [`gem_coherency::Error::NotAvailable`] on an unknown device.
    pub fn new(device: &Device) -> Result<Self> {
        let builder = Builder::new(device.machine())?;
        Ok(Self { builder, objects: Objects::new(device) })
    }

    /// Returns whether the command of `field` can name a MOCS entry ([`Region::mocs`]).
    pub fn names_mocs(&self, field: Field) -> bool {
        self.dialect().names_mocs(field)
    }

    /// Returns the commands that the batch uses.
    pub fn dialect(&self) -> &Dialect {
        self.builder.dialect()
    }

    /// Stores four bytes, little-endian; caching follows the page table.
    ///
    /// # Errors
    /// [`gem_coherency::Error::RangeOutOfBounds`]; [`crate::Error::NotEncodable`] for an offset that is not a multiple of 4;
    /// [`gem_coherency::Error::OtherDevice`]; [`gem_coherency::Error::Closed`]; as [`Dialect::check_store`].
    pub fn store(&mut self, bo: &Bo, offset: u64, value: u32) -> Result<&mut Self> {
        ByteRange::within(offset, 4, bo.size())?;
        let buffer = self.objects.number(bo)?;
        self.builder.store(buffer, offset, value)?;
        self.objects.note(buffer, Access::Write, None);
        Ok(self)
    }

    /// Fills rows with a 32-bit value, little-endian.
    ///
    /// # Errors
    /// As [`Self::store`], and as [`Builder::fill`].
    pub fn fill(&mut self, to: Region<'_>, extent: Extent, value: u32) -> Result<&mut Self> {
        let surface = self.surface(to, extent)?;
        self.builder.fill(surface, extent, value)?;
        self.objects.note(surface.buffer, Access::Write, to.mocs);
        Ok(self)
    }

    /// Copies rows.
    ///
    /// # Errors
    /// As [`Self::fill`], about either region.
    pub fn copy(&mut self, to: Region<'_>, from: Region<'_>, extent: Extent) -> Result<&mut Self> {
        let (target, source) = (self.surface(to, extent)?, self.surface(from, extent)?);
        self.builder.copy(target, source, extent)?;
        self.objects.note(target.buffer, Access::Write, to.mocs);
        self.objects.note(source.buffer, Access::Read, from.mocs);
        Ok(self)
    }

    /// Fills `len` contiguous bytes, ignoring the pitch.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub fn fill_range(&mut self, to: Region<'_>, len: u64, value: u32) -> Result<&mut Self> {
        ByteRange::within(to.offset, len, to.bo.size())?;
        for (start, extent) in pieces(len) {
            self.fill(to.piece(start), extent, value)?;
        }
        Ok(self)
    }

    /// Copies `len` contiguous bytes, ignoring the pitches.
    ///
    /// # Errors
    /// As [`Self::copy`].
    pub fn copy_range(&mut self, to: Region<'_>, from: Region<'_>, len: u64) -> Result<&mut Self> {
        ByteRange::within(to.offset, len, to.bo.size())?;
        ByteRange::within(from.offset, len, from.bo.size())?;
        for (start, extent) in pieces(len) {
            self.copy(to.piece(start), from.piece(start), extent)?;
        }
        Ok(self)
    }

    /// Waits for the previous commands, so that later ones see their writes.
    pub fn flush(&mut self) -> &mut Self {
        self.builder.flush();
        self
    }

    /// Prepares every BO and submits the batch, without waiting.
    ///
    /// # Errors
    /// As [`Device::submit_with`] and [`gem_coherency::backend::Extras::run`]; [`crate::Error::NoAddress`]; those of
    /// creating the batch's own BO.
    pub fn submit(self) -> Result<Submitted> {
        self.objects.submit(self.builder.finish())
    }

    fn surface(&mut self, region: Region<'_>, extent: Extent) -> Result<Surface> {
        let Region { bo, offset, pitch, mocs } = region;
        let rows = u64::from(extent.height.max(1) - 1) * u64::from(pitch);
        ByteRange::within(offset, rows + u64::from(extent.width), bo.size())?;
        // On a discrete device only system memory is cached.
        let discrete = self.objects.device.machine().caps.contains(Caps::DISCRETE);
        let memory = match bo.level() {
            CacheLevel::None if discrete => Memory::Local,
            CacheLevel::None | CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => Memory::System,
        };
        Ok(Surface { buffer: self.objects.number(bo)?, offset, pitch, mocs, memory })
    }
}

/// Splits a length into rows and the rest; yields each piece with its start.
fn pieces(len: u64) -> impl Iterator<Item = (u64, Extent)> {
    let whole = len / ROW * ROW;
    let rows = (0..whole).step_by((MOST_ROWS * ROW) as usize).map(move |start| {
        let height = (whole - start).min(MOST_ROWS * ROW) / ROW;
        (start, Extent { width: ROW as u32, height: height as u32 })
    });
    let rest = Extent { width: (len - whole) as u32, height: 1 };
    rows.chain((rest.width > 0).then_some((whole, rest)))
}
