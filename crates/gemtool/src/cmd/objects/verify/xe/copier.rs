//! The copy engine, with the buffers beside the measured object.

use std::time::Duration;

use gem_coherency::backend::{Addresses, ExecObject, Run};
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::{Bo, Upload};
use gem_coherency::vocabulary::{Access, Handle, MocsClass};
use gem_coherency_exercise::commands::Builder;
use gem_coherency_exercise::{Error, Result};

use crate::cmd::objects::verify::setup::{FIRST_ADDRESS, STEP};

/// The address of the measured object (buffer 0 of a batch).
pub const OBJECT: u64 = FIRST_ADDRESS;
/// The address of the buffer beside it (buffer 1).
const OTHER: u64 = FIRST_ADDRESS + STEP;
/// The address of the batch.
const BATCH: u64 = FIRST_ADDRESS + 2 * STEP;

/// The longest time that a batch may take.
const LONGEST: Duration = Duration::from_secs(60);

/// The copy engine of a device.
#[derive(Debug)]
pub struct Copier {
    device: Device,
    /// Source of copies into the object.
    pub staging: Bo,
    /// Destination of copies out of the object.
    pub scratch: Bo,
}

/// The measured object in a batch.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// The library prepares it.
    Known(&'a Bo),
    /// The library does not know of it.
    Unknown(Handle),
}

impl Copier {
    /// Allocates the buffers for objects of at most `size` bytes.
    ///
    /// # Errors
    /// The errors of allocating a BO.
    pub fn new(device: &Device, size: u64) -> Result<Self> {
        let alloc = || device.alloc(AllocRequest::new(size));
        Ok(Self { device: device.clone(), staging: alloc()?, scratch: alloc()? })
    }

    /// Returns the device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs a batch over the object, which is bound at [`OBJECT`], and another buffer, and waits for the GPU.
    ///
    /// # Errors
    /// The errors of writing and submitting the batch; [`Error::Hung`].
    pub fn run(
        &self,
        (target, access): (Target<'_>, Access),
        other: Option<(&Bo, Access)>,
        write: impl FnOnce(&mut Builder) -> Result<()>,
    ) -> Result<()> {
        let extras = self.device.drm().extras()?;
        let mut builder = Builder::new(self.device.machine())?;
        write(&mut builder)?;
        builder.flush();
        let written = builder.finish().at(&[OBJECT, OTHER]);
        let bytes = written.to_bytes();
        let batch = self.device.alloc(AllocRequest::new(bytes.len() as u64))?;
        batch.upload(0, &bytes, Upload::Once)?;

        let submission = |bo, access| Submission { bo, access, mocs: MocsClass::PageTable };
        let mut known = vec![submission(&batch, Access::Read)];
        let handle = match target {
            Target::Known(bo) => {
                known.push(submission(bo, access));
                bo.handle()
            }
            Target::Unknown(handle) => handle,
        };
        let mut objects = vec![ExecObject { handle, access }];
        let mut addresses = vec![OBJECT];
        if let Some((bo, access)) = other {
            known.push(submission(bo, access));
            objects.push(ExecObject { handle: bo.handle(), access });
            addresses.push(OTHER);
        }
        addresses.push(BATCH);
        let run = Run {
            objects: &objects,
            batch: batch.handle(),
            len_bytes: bytes.len() as u32,
            engine: written.engine(),
            addresses: Addresses::Pinned(&addresses),
        };
        let before = extras.hangs()?;
        self.device.submit_with(&known, |_| extras.run(&run))?;
        // Without a GuC the driver never resets an engine that hangs.
        batch.wait(Some(LONGEST))?;
        match extras.hangs()? {
            hangs if hangs > before => Err(Error::Hung { hangs }),
            _ => Ok(()),
        }
    }
}
