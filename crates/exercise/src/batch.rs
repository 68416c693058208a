//! Batches for the copy engine that use BOs: built, prepared, submitted and waited for.

use std::time::Duration;

use crate::addresses::Addresses as AddressSpace;
use crate::commands::{Builder, Dialect, Extent, Field, Memory, Surface};
use crate::{Error, Result};
use gem_coherency::access::{FlushReport, Upload};
use gem_coherency::bo::Bo;
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::drm::{Addresses, ExecObject, Relocation, Run};
use gem_coherency::error::{grow, room};
use gem_coherency::platform::{Caps, EngineClass};
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

/// Bytes per row when a range is copied or filled by rows.
const ROW: u64 = 4096;
/// Largest number of rows of one command.
const MOST_ROWS: u64 = 8192;

/// Rows of bytes in a BO that a batch reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    bo: &'a Bo,
    offset: u64,
    pitch: u32,
    mocs: Option<u8>,
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

/// A batch for the copy engine under construction; its commands execute in order.
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
    device: Device,
    builder: Builder,
    /// The builder's buffers.
    bos: Vec<Bo>,
    uses: Vec<Use>,
}

/// An access of a command to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Use {
    buffer: u32,
    access: Access,
    mocs: MocsClass,
}

/// A submitted batch.
#[derive(Debug)]
#[must_use = "the GPU may still be at work"]
pub struct Submitted {
    device: Device,
    batch: Bo,
    reports: Vec<FlushReport>,
    /// Number of batches that hung before this one was submitted.
    hangs: u32,
}

impl Batch {
    /// Begins a batch for the copy engine of `device`.
    ///
    /// # Errors
    /// [`gem_coherency::Error::NotAvailable`] before graphics version 6, and on an unknown device.
    pub fn new(device: &Device) -> Result<Self> {
        let builder = Builder::new(device.machine())?;
        Ok(Self { device: device.clone(), builder, bos: Vec::new(), uses: Vec::new() })
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
    /// [`gem_coherency::Error::RangeOutOfBounds`]; [`Error::NotEncodable`] for an offset that is not a multiple of 4;
    /// [`gem_coherency::Error::OtherDevice`]; [`gem_coherency::Error::Closed`].
    pub fn store(&mut self, bo: &Bo, offset: u64, value: u32) -> Result<&mut Self> {
        ByteRange::within(offset, 4, bo.size())?;
        let buffer = self.buffer(bo)?;
        self.builder.store(buffer, offset, value)?;
        self.note(buffer, Access::Write, None);
        Ok(self)
    }

    /// Fills rows with a 32-bit value, little-endian.
    ///
    /// # Errors
    /// As [`Self::store`], and as [`Builder::fill`].
    pub fn fill(&mut self, to: Region<'_>, extent: Extent, value: u32) -> Result<&mut Self> {
        let surface = self.surface(to, extent)?;
        self.builder.fill(surface, extent, value)?;
        self.note(surface.buffer, Access::Write, to.mocs);
        Ok(self)
    }

    /// Copies rows.
    ///
    /// # Errors
    /// As [`Self::fill`], about either region.
    pub fn copy(&mut self, to: Region<'_>, from: Region<'_>, extent: Extent) -> Result<&mut Self> {
        let (target, source) = (self.surface(to, extent)?, self.surface(from, extent)?);
        self.builder.copy(target, source, extent)?;
        self.note(target.buffer, Access::Write, to.mocs);
        self.note(source.buffer, Access::Read, from.mocs);
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
    /// As [`Device::submit_with`] and [`gem_coherency::drm::Drm::run`]; [`Error::NoAddress`]; those of
    /// creating the batch's own BO.
    pub fn submit(self) -> Result<Submitted> {
        let Self { device, builder, bos, uses } = self;
        device.check_process()?;
        let drm = device.drm();
        let hangs = drm.hangs()?;
        let mut written = builder.finish();
        let batch = device.alloc(AllocRequest::new(4 * written.words().len() as u64))?;
        if !device.machine().caps.contains(Caps::DISCRETE) {
            // Some kernels read a batch through the cache before the GPU does (intel_engine_cmd_parser) and
            // do not know of stores around the cache. Cached stores that are written back are correct for
            // both readers.
            batch.map(MmapMode::Wb)?;
        }
        let mut relocations = room("a batch", written.patches().len())?;
        let mut addresses = room("a batch", bos.len() + 1)?;
        let pinned = device.machine().has_full_ppgtt();
        if pinned {
            let space = device.extension(|| AddressSpace::new(device.machine()));
            space.place(bos.iter().chain([&batch]).map(|bo| (bo.handle(), bo.size())), &mut addresses)?;
            written = written.at(&addresses);
        } else {
            for patch in written.patches() {
                let why = "the kernel adds at most 4 GiB to an address";
                let too_far = |_| Error::NotEncodable { what: "offset", value: patch.delta, why };
                relocations.push(Relocation {
                    at: 4 * patch.word as u64,
                    object: patch.buffer,
                    delta: u32::try_from(patch.delta).map_err(too_far)?,
                });
            }
        }
        let mut bytes = room("a batch", 4 * written.words().len())?;
        bytes.extend(written.words().iter().flat_map(|word| word.to_le_bytes()));
        let len_bytes = u32::try_from(bytes.len()).map_err(|_| {
            let why = "a submission has at most 4 GiB of commands";
            Error::NotEncodable { what: "length", value: bytes.len() as u64, why }
        })?;
        batch.upload(0, &bytes, Upload::Once)?;
        let mut submissions = room("a batch", uses.len() + 1)?;
        submissions.extend(uses.iter().filter_map(|one| {
            let bo = bos.get(one.buffer as usize)?;
            Some(Submission { bo, access: one.access, mocs: one.mocs })
        }));
        let mut objects = room("a batch", bos.len())?;
        objects.extend((0..).zip(&bos).map(|(buffer, bo)| exec_object(buffer, bo, &uses)));
        submissions.push(Submission { bo: &batch, access: Access::Read, mocs: MocsClass::PageTable });
        let run = Run {
            objects: &objects,
            batch: batch.handle(),
            len_bytes,
            engine: EngineClass::Copy,
            addresses: match pinned {
                true => Addresses::Pinned(&addresses),
                false => Addresses::Relocated(&relocations),
            },
        };
        let mut reports = room("reports", submissions.len())?;
        device.submit_with(&submissions, |flushed| {
            reports.extend_from_slice(flushed);
            drm.run(&run)
        })?;
        Ok(Submitted { reports, device, batch, hangs })
    }

    /// Returns the number of a BO in the batch, adding it if it is new.
    fn buffer(&mut self, bo: &Bo) -> Result<u32> {
        if !self.device.owns(bo) {
            return Err(gem_coherency::Error::OtherDevice { handle: bo.handle().get() }.into());
        }
        bo.check_open()?;
        // Reserves room for the uses of a command, too.
        grow(&mut self.uses, "a batch", 2)?;
        let place = self.bos.iter().position(|known| known.is_same(bo));
        if let Some(place) = place {
            return Ok(place as u32);
        }
        grow(&mut self.bos, "a batch", 1)?;
        self.bos.push(bo.clone());
        Ok((self.bos.len() - 1) as u32)
    }

    fn surface(&mut self, region: Region<'_>, extent: Extent) -> Result<Surface> {
        let Region { bo, offset, pitch, mocs } = region;
        let rows = u64::from(extent.height.max(1) - 1) * u64::from(pitch);
        ByteRange::within(offset, rows + u64::from(extent.width), bo.size())?;
        // On a discrete device only system memory is cached.
        let discrete = self.device.machine().caps.contains(Caps::DISCRETE);
        let memory = match bo.level() {
            CacheLevel::None if discrete => Memory::Local,
            CacheLevel::None | CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => Memory::System,
        };
        Ok(Surface { buffer: self.buffer(bo)?, offset, pitch, mocs, memory })
    }

    /// Records an access once.
    fn note(&mut self, buffer: u32, access: Access, mocs: Option<u8>) {
        let class = |index| self.device.mocs_class(index);
        let one = Use { buffer, access, mocs: mocs.map_or(MocsClass::PageTable, class) };
        if !self.uses.contains(&one) {
            self.uses.push(one);
        }
    }
}

/// Returns the kernel's description of a buffer.
fn exec_object(buffer: u32, bo: &Bo, uses: &[Use]) -> ExecObject {
    let writes = uses.iter().any(|one| one.buffer == buffer && one.access == Access::Write);
    ExecObject { handle: bo.handle(), access: if writes { Access::Write } else { Access::Read } }
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

impl Submitted {
    /// Returns the flush reports: one for each BO, access and MOCS class, in the order of the commands, and
    /// last the batch's own.
    pub fn reports(&self) -> &[FlushReport] {
        &self.reports
    }

    /// Waits until the GPU is done with the batch; without a timeout, indefinitely.
    ///
    /// # Errors
    /// [`gem_coherency::Error::Timeout`]; [`Error::Hung`] if any batch of this device hung the GPU after this one was
    /// submitted; those of GEM_WAIT.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        self.batch.wait(timeout)?;
        let hangs = self.device.drm().hangs()?;
        if hangs > self.hangs { Err(Error::Hung { hangs }) } else { Ok(()) }
    }
}
