//! A device, its objects, and copies by the GPU, by the kernel's requests alone.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use gem_coherency::backend::node::Node;
use gem_coherency::backend::{Addresses, Created, Drm, ExecObject, Mapping, Param, Run};
use gem_coherency::platform::{self, Machine};
use gem_coherency::vocabulary::{Access, CachingMode, Handle, MmapMode, MocsClass};
use gem_coherency_exercise::commands::shaders::{self, COPY_BYTES};
use gem_coherency_exercise::commands::{Batch, Builder, Bytes, Extent, Memory, Surface, Walker, walker};
use gem_coherency_sim::SimDevice;

/// The result of the program's functions.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The largest size of an object: the distance of the addresses in a batch.
pub const LARGEST_BYTES: u64 = 64 << 20;
/// The addresses of a batch's objects, in the order of their numbers.
const ADDRESSES: [u64; 3] = [LARGEST_BYTES, 2 * LARGEST_BYTES, 3 * LARGEST_BYTES];
/// The numbers of a batch's objects.
const FROM: u32 = 0;
const TO: u32 = 1;
const BATCH: u32 = 2;
/// Bytes of a row that the copy engine copies.
const ROW: u32 = 4096;
/// The longest time of a copy.
const TIMEOUT_NS: i64 = 60_000_000_000;

/// The way in which the GPU reads.
#[derive(Clone, Copy)]
pub enum Reader {
    /// A shader on the render engine.
    Shader,
    /// The copy engine.
    Blitter,
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shader => "a shader",
            Self::Blitter => "the blitter",
        })
    }
}

/// An open device.
pub struct Gpu {
    drm: Arc<dyn Drm>,
    machine: Machine,
}

impl Gpu {
    /// Opens a path, or a software i915 by its name.
    pub fn open(name: &str) -> Result<Self> {
        let drm: Arc<dyn Drm> = match name.starts_with(gem_coherency_sim::PREFIX) {
            true => Arc::new(SimDevice::open(name)?),
            false => Arc::new(Node::open(name)?),
        };
        let id = u16::try_from(drm.param(Param::ChipsetId)?)?;
        let machine = platform::by_id(id)?.machine(drm.kernel(), false);
        Ok(Self { drm, machine })
    }

    /// Returns the device's platform and kernel.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the first MOCS entry that bypasses the LLC.
    pub fn bypassing_entry(&self) -> Result<u8> {
        let bypasses = |&entry: &u8| platform::mocs_class(&self.machine, entry) == MocsClass::BypassLlc;
        (0..64).find(bypasses).ok_or_else(|| {
            let title = self.machine.platform.title;
            format!("{title} has no MOCS entry that bypasses the LLC: name one with --entry").into()
        })
    }

    /// Copies an object by the GPU, which reads it by MOCS entry `entry` or as the page table says, and waits for the copy.
    pub fn copy(&self, from: &Object, to: &Object, reader: Reader, entry: Option<u8>) -> Result<()> {
        let batch = match reader {
            Reader::Shader => self.shader(from.bytes, entry)?,
            Reader::Blitter => self.blitter(from.bytes, entry)?,
        };
        let bytes = batch.at(&ADDRESSES);
        let (engine, bytes) = (bytes.engine(), bytes.to_bytes());
        let object = Object::new(self, bytes.len() as u64)?;
        object.fill(&bytes)?;
        let one = |object: &Object, access| ExecObject { handle: object.handle(), access };
        self.drm.extras()?.run(&Run {
            objects: &[one(from, Access::Read), one(to, Access::Write)],
            batch: object.handle(),
            len_bytes: bytes.len() as u32,
            engine,
            addresses: Addresses::Pinned(&ADDRESSES),
        })?;
        Ok(self.drm.wait(object.handle(), TIMEOUT_NS)?)
    }

    /// Returns a batch of a shader that copies.
    fn shader(&self, bytes: u64, entry: Option<u8>) -> Result<Batch> {
        let surface = |buffer, mocs| Bytes { buffer, offset: 0, len: bytes, mocs };
        let copy = Walker {
            shader: &shaders::copy(&self.machine)?,
            surfaces: &[surface(FROM, entry), surface(TO, None)],
            constants: &[],
            groups: (bytes / COPY_BYTES) as u32,
        };
        Ok(walker(&self.machine, &copy, BATCH)?)
    }

    /// Returns a batch of the copy engine.
    fn blitter(&self, bytes: u64, entry: Option<u8>) -> Result<Batch> {
        let rows = |buffer, mocs| Surface { buffer, offset: 0, pitch: ROW, mocs, memory: Memory::System };
        let extent = Extent { width: ROW, height: (bytes / u64::from(ROW)) as u32 };
        let mut builder = Builder::new(&self.machine)?;
        builder.copy(rows(TO, None), rows(FROM, entry), extent)?;
        Ok(builder.finish())
    }
}

/// An object, closed when dropped.
pub struct Object<'a> {
    drm: &'a dyn Drm,
    created: Created,
    bytes: u64,
}

impl<'a> Object<'a> {
    /// Creates an object.
    pub fn new(gpu: &'a Gpu, bytes: u64) -> Result<Self> {
        let drm = gpu.drm.as_ref();
        Ok(Self { drm, created: drm.create(bytes)?, bytes })
    }

    /// Makes the GPU snoop the CPU's caches for the object, where they share no LLC.
    pub fn share_with_gpu(&self) -> Result<()> {
        Ok(self.drm.set_caching(self.created.handle, CachingMode::Cached)?)
    }

    /// Stores bytes through the cache and writes their lines back to memory.
    pub fn fill(&self, bytes: &[u8]) -> Result<()> {
        let map = self.map()?;
        map.copy_through(0, bytes)?;
        Ok(map.publish()?)
    }

    /// Loads bytes through the cache.
    pub fn load(&self, bytes: &mut [u8]) -> Result<()> {
        Ok(self.map()?.copy_out(0, bytes)?)
    }

    fn map(&self) -> Result<Mapping> {
        Ok(self.drm.map(self.created.handle, MmapMode::Wb, self.created.size_bytes)?)
    }

    fn handle(&self) -> Handle {
        self.created.handle
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        // The kernel refuses only handles that are not open; closing the device would close this one, too.
        let _ = self.drm.close(self.created.handle);
    }
}
