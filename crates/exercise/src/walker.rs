//! Shaders on the render engine that use BOs: built, prepared, submitted and waited for.

use crate::commands::{self, Bytes, walker};
use crate::submission::{Objects, Submitted};
use crate::{Region, Result};
use gem_coherency::device::Device;
use gem_coherency::error::grow;
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::Access;

/// A shader for the render engine, and the surfaces that it accesses.
///
/// ```
/// use gem_coherency::device::{AllocRequest, Device};
/// use gem_coherency::vocabulary::Access;
/// use gem_coherency_exercise::commands::shaders;
/// use gem_coherency_exercise::{Region, Walker};
///
/// # gem_coherency_sim::link();
/// let device = Device::open("sim:jsl")?;
/// let bo = device.alloc(AllocRequest::new(8192))?;
/// bo.write(0, 4)?.write_at(0, &[1, 2, 3, 4])?;
///
/// // Reads around the LLC, which the copy engine of Jasper Lake cannot.
/// let mut walker = Walker::new(&device, &shaders::copy(device.machine())?)?;
/// walker.surface(Region::new(&bo, 0).mocs(16), 4096, Access::Read)?;
/// walker.surface(Region::new(&bo, 4096), 4096, Access::Write)?;
/// walker.submit((4096 / shaders::COPY_BYTES) as u32)?.wait(None)?;
///
/// let mut bytes = [0; 4];
/// bo.read(4096, 4)?.read_at(4096, &mut bytes)?;
/// assert_eq!(bytes, [1, 2, 3, 4]);
/// # Ok::<(), gem_coherency_exercise::Error>(())
/// ```
#[derive(Debug)]
pub struct Walker {
    shader: Vec<u8>,
    surfaces: Vec<Bytes>,
    constants: Vec<u32>,
    objects: Objects,
}

impl Walker {
    /// Begins a batch that runs `shader`, the instructions of the device's execution units.
    ///
    /// # Errors
    /// [`gem_coherency::Error::NoMemory`].
    pub fn new(device: &Device, shader: &[u8]) -> Result<Self> {
        let mut copy = Vec::new();
        grow(&mut copy, "a shader", shader.len())?;
        copy.extend(shader);
        Ok(Self { shader: copy, surfaces: Vec::new(), constants: Vec::new(), objects: Objects::new(device) })
    }

    /// Adds `len` bytes as the next entry of the binding table; the pitch does not matter.
    ///
    /// # Errors
    /// [`gem_coherency::Error::RangeOutOfBounds`]; [`gem_coherency::Error::OtherDevice`]; [`gem_coherency::Error::Closed`].
    pub fn surface(&mut self, region: Region<'_>, len: u64, access: Access) -> Result<&mut Self> {
        let Region { bo, offset, mocs, .. } = region;
        ByteRange::within(offset, len, bo.size())?;
        grow(&mut self.surfaces, "a binding table", 1)?;
        let buffer = self.objects.number(bo)?;
        self.surfaces.push(Bytes { buffer, offset, len, mocs });
        self.objects.note(buffer, access, mocs);
        Ok(self)
    }

    /// Sets the dwords that each thread finds in r1.
    pub fn constants(&mut self, dwords: &[u32]) -> &mut Self {
        self.constants = dwords.to_vec();
        self
    }

    /// Prepares every BO and submits the shader for so many groups, without waiting.
    ///
    /// # Errors
    /// As [`crate::Batch::submit`] and [`walker()`].
    pub fn submit(self, groups: u32) -> Result<Submitted> {
        let Self { shader, surfaces, constants, objects } = self;
        let what = commands::Walker { shader: &shader, surfaces: &surfaces, constants: &constants, groups };
        let written = walker(objects.device.machine(), &what, objects.own())?;
        objects.submit(written)
    }
}
