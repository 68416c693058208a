//! The submission of batches that use BOs.

use std::time::Duration;

use crate::addresses::Addresses as AddressSpace;
use crate::{Error, Result, commands};
use gem_coherency::backend::{Addresses, ExecObject, Relocation, Run};
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::error::{grow, room};
use gem_coherency::object::Bo;
use gem_coherency::object::{FlushReport, Upload};
use gem_coherency::platform::Caps;
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};

/// The BOs of a batch, and its accesses to them.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) device: Device,
    /// The BOs by their numbers in the batch.
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

impl Objects {
    /// Begins a batch on `device`.
    pub(crate) fn new(device: &Device) -> Self {
        Self { device: device.clone(), bos: Vec::new(), uses: Vec::new() }
    }

    /// Returns the number after those of the BOs, which is the batch's own.
    pub(crate) fn own(&self) -> u32 {
        self.bos.len() as u32
    }

    /// Records an access once.
    pub(crate) fn note(&mut self, buffer: u32, access: Access, mocs: Option<u8>) {
        let class = |index| self.device.mocs_class(index);
        let one = Use { buffer, access, mocs: mocs.map_or(MocsClass::PageTable, class) };
        if !self.uses.contains(&one) {
            self.uses.push(one);
        }
    }

    /// Returns the number of a BO in the batch, adding it if it is new.
    pub(crate) fn number(&mut self, bo: &Bo) -> Result<u32> {
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

    /// Prepares every BO and submits `written`, without waiting.
    ///
    /// # Errors
    /// As [`Device::submit_with`] and [`gem_coherency::backend::Extras::run`]; [`Error::NoAddress`]; those of
    /// creating the batch's own BO.
    pub(crate) fn submit(self, mut written: commands::Batch) -> Result<Submitted> {
        let Self { device, bos, uses } = self;
        device.check_process()?;
        let requests = device.drm().extras()?;
        let hangs = requests.hangs()?;
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
            engine: written.engine(),
            addresses: match pinned {
                true => Addresses::Pinned(&addresses),
                false => Addresses::Relocated(&relocations),
            },
        };
        let mut reports = room("reports", submissions.len())?;
        device.submit_with(&submissions, |flushed| {
            reports.extend_from_slice(flushed);
            requests.run(&run)
        })?;
        Ok(Submitted { reports, device, batch, hangs })
    }
}

/// Returns the kernel's description of a buffer.
fn exec_object(buffer: u32, bo: &Bo, uses: &[Use]) -> ExecObject {
    let writes = uses.iter().any(|one| one.buffer == buffer && one.access == Access::Write);
    ExecObject { handle: bo.handle(), access: if writes { Access::Write } else { Access::Read } }
}

impl Submitted {
    /// Returns the flush reports: one for each BO, access and MOCS class, in the order of the commands (of a
    /// copy, the target first), and last the batch's own.
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
        let hangs = self.device.drm().extras()?.hangs()?;
        if hangs > self.hangs { Err(Error::Hung { hangs }) } else { Ok(()) }
    }
}
