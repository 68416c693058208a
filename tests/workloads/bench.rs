//! An open device, and what workloads do with its objects. All of it avoids the CPU's cache, except where it says so.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use gem_coherency::backend::node::Node;
use gem_coherency::backend::{Addresses, Drm, ExecObject, Extras, Mapping, Param, Placement, Run};
use gem_coherency::platform::{Caps, Facts, Machine};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, Handle, MmapMode};
use gem_coherency_exercise::commands::{Builder, Extent, Memory, Surface};

use super::foreign_objects::userptr;

/// The size of an object.
pub const SIZE: u64 = 64 << 10;
/// What memory has before a workload changes it.
pub const OLD: u32 = 0x0d1d_0d1d;
/// What a workload writes.
pub const NEW: u32 = 0x1e3e_1e3e;
/// The GPU addresses of a copy's source, destination and batch.
const ADDRESSES: [u64; 3] = [0x100_0000, 0x200_0000, 0x300_0000];
const ROW: u32 = 4096;
/// The PAT index of Meteor Lake for uncached accesses.
const UNCACHED_PAT: u32 = 2;

pub struct Bench {
    pub node: Arc<Node>,
    pub machine: Machine,
}

/// What a workload's reader saw.
pub struct Seen {
    old: usize,
    wrong: usize,
    all: usize,
}

impl Seen {
    /// Compares the dwords of `bytes` with `want`.
    pub fn new(bytes: &[u8], want: impl Fn(usize) -> u32) -> Self {
        let mut seen = Self { old: 0, wrong: 0, all: bytes.len() / 4 };
        let dwords = bytes.chunks_exact(4).map(|dword| u32::from_le_bytes(dword.try_into().unwrap()));
        for (index, dword) in dwords.enumerate() {
            match dword {
                right if right == want(index) => {}
                OLD => seen.old += 1,
                _ => seen.wrong += 1,
            }
        }
        seen
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { old: 0, wrong: 0, .. } => f.write_str("right"),
            Self { old, wrong: 0, all } => write!(f, "old {old} of {all}"),
            Self { old, wrong, all } => write!(f, "old {old} and unknown {wrong} of {all}"),
        }
    }
}

impl Bench {
    pub fn open(path: &Path) -> Self {
        let node = Node::open(path).unwrap();
        let fact = |param| node.param(param).ok();
        let facts = Facts {
            chipset_id: fact(Param::ChipsetId).unwrap() as u16,
            has_llc: fact(Param::HasLlc).map(|value| value != 0),
            has_wt: fact(Param::HasWt).map(|value| value != 0),
            coherent_ggtt: fact(Param::MmapGttCoherent).map(|value| value != 0),
        };
        let machine = Machine::from_facts(&facts, node.kernel()).unwrap();
        Self { node: Arc::new(node), machine }
    }

    fn is_discrete(&self) -> bool {
        self.machine.caps.contains(Caps::DISCRETE)
    }

    /// Creates an object in system memory, with the platform's usual caching.
    pub fn create(&self, size: u64) -> Handle {
        let created = match self.is_discrete() {
            true => self.node.create_in(size, &[Placement::SYSTEM]),
            false => self.node.create(size),
        };
        created.unwrap().handle
    }

    /// Creates an object of the process's memory, in this file.
    pub fn userptr(&self) -> Handle {
        userptr(&File::from(self.node.file().unwrap().try_clone_to_owned().unwrap()), SIZE)
    }

    /// Creates an uncached object.
    pub fn uncached(&self) -> Handle {
        if self.machine.caps.contains(Caps::PAT_AT_CREATE) {
            return self.node.create_with_pat(SIZE, UNCACHED_PAT).unwrap().handle;
        }
        let handle = self.create(SIZE);
        self.set_caching(handle, CachingMode::None);
        handle
    }

    /// Sets the caching where there is such a call; elsewhere objects are cached.
    pub fn set_caching(&self, handle: Handle, mode: CachingMode) {
        if !self.is_discrete() && !self.machine.caps.contains(Caps::PAT_AT_CREATE) {
            self.node.set_caching(handle, mode).unwrap();
        }
    }

    /// Moves to a domain where there are domains.
    pub fn set_domain(&self, handle: Handle, read: Domains, write: Domains) {
        if !self.is_discrete() {
            self.node.set_domain(handle, read, write).unwrap();
        }
    }

    pub fn map(&self, handle: Handle, mode: MmapMode) -> Mapping {
        let mode = if self.is_discrete() { MmapMode::Fixed } else { mode };
        self.node.map(handle, mode, SIZE).unwrap()
    }

    /// Fills an object through a write-combining mapping.
    pub fn fill(&self, handle: Handle, value: u32) {
        self.set_domain(handle, Domains::WC, Domains::WC);
        let mapping = self.map(handle, MmapMode::Wc);
        mapping.copy_in(0, &value.to_le_bytes().repeat(SIZE as usize / 4)).unwrap();
        mapping.drain().unwrap();
    }

    /// Creates an uncached object, filled.
    pub fn filled(&self, value: u32) -> Handle {
        let handle = self.uncached();
        self.fill(handle, value);
        handle
    }

    /// The CPU's stores to all of an object, through its cache.
    pub fn store(&self, handle: Handle, value: u32) {
        self.map(handle, MmapMode::Wb).copy_in(0, &value.to_le_bytes().repeat(SIZE as usize / 4)).unwrap();
    }

    /// The CPU's loads of all of an object, through such a mapping.
    pub fn load(&self, handle: Handle, mode: MmapMode) -> Vec<u8> {
        let mut bytes = vec![0; SIZE as usize];
        self.map(handle, mode).copy_out(0, &mut bytes).unwrap();
        bytes
    }

    /// The GPU copies an object.
    pub fn copy(&self, from: Handle, to: Handle) {
        let mut builder = Builder::new(&self.machine).unwrap();
        let rows = |buffer| Surface { buffer, offset: 0, pitch: ROW, mocs: None, memory: Memory::System };
        let extent = Extent { width: ROW, height: SIZE as u32 / ROW };
        builder.copy(rows(1), rows(0), extent).unwrap();
        builder.flush();
        let commands = builder.finish().at(&ADDRESSES[..2]);
        let bytes = commands.to_bytes();
        let batch = self.create(SIZE);
        self.set_domain(batch, Domains::WC, Domains::WC);
        let mapping = self.map(batch, MmapMode::Wc);
        mapping.copy_in(0, &bytes).unwrap();
        mapping.drain().unwrap();
        let objects =
            [(from, Access::Read), (to, Access::Write)].map(|(handle, access)| ExecObject { handle, access });
        let run = Run {
            objects: &objects,
            batch,
            len_bytes: bytes.len() as u32,
            engine: commands.engine(),
            addresses: Addresses::Pinned(&ADDRESSES),
        };
        self.node.run(&run).unwrap();
        self.node.wait(to, -1).unwrap();
        drop(mapping);
        self.node.close(batch).unwrap();
    }

    /// What the GPU reads of an object; it writes it to a cached one.
    pub fn gpu_reads(&self, from: Handle) -> Vec<u8> {
        let to = self.create(SIZE);
        self.set_caching(to, CachingMode::Cached);
        self.copy(from, to);
        self.set_domain(to, Domains::CPU, Domains::empty());
        let bytes = self.load(to, MmapMode::Wb);
        self.node.close(to).unwrap();
        bytes
    }
}
