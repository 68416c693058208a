//! The terms in which drivers and their frames are described.

use gem_coherency::platform::Machine;
use gem_coherency::policy::Path;
use gem_coherency::vocabulary::{Access, Domains};
use gem_coherency::{CachingMode, MmapMode};

/// A driver, or one use of it, with the frame that it draws again and again.
pub struct Driver {
    /// The row's name in the table.
    pub name: &'static str,
    /// The platforms that the driver supports, of those in the table.
    pub platforms: &'static [&'static str],
    /// Those of them where a reader sees old bytes if no operation is made.
    pub stale_without: &'static [&'static str],
    /// The buffers that the frame uses.
    pub buffers: &'static [Buffer],
    /// The frame.
    pub frame: &'static [Step],
    /// The driver has waited for the GPU, without a request that counts, when it maps a buffer.
    pub waits: bool,
    /// The driver submits the batches itself, with `gemco_submit_begin` if it uses the library.
    pub reports_batches: bool,
}

impl Driver {
    /// Returns whether buffers are adopted whose contents are not known.
    pub fn adopts_unknown_contents(&self) -> bool {
        self.buffers.iter().any(|buffer| matches!(buffer.calls, Calls::Lock(_)))
    }
}

/// A buffer of a driver.
pub struct Buffer {
    /// Its size.
    pub pages: u64,
    /// How the driver handles it on a machine.
    pub handling: fn(&Machine) -> Handling,
    /// The calls of the library that take the place of the driver's operations.
    pub calls: Calls,
    /// It is on the screen while the frame shows it.
    pub framebuffer: bool,
}

/// A driver's handling of a buffer: what it creates, and what it does before and after each access of the CPU.
pub struct Handling {
    /// How the object is created.
    pub creation: Creation,
    /// How it is mapped.
    pub map: MmapMode,
    /// Whether stores and loads have one mapping.
    pub mappings: Mappings,
    /// How bytes are stored.
    pub store: Store,
    /// Before the CPU stores.
    pub before_write: &'static [Act],
    /// After the CPU has stored.
    pub after_write: &'static [Act],
    /// Before the CPU loads.
    pub before_read: &'static [Act],
    /// After the CPU has loaded.
    pub after_read: &'static [Act],
}

impl Handling {
    /// A mapping of a plain object, without any operation.
    pub const fn mapped(map: MmapMode) -> Self {
        let (creation, store, mappings) = (Creation::Plain, Store::Mapping, Mappings::One);
        Self {
            creation,
            map,
            mappings,
            store,
            before_write: &[],
            after_write: &[],
            before_read: &[],
            after_read: &[],
        }
    }

    /// The same before and after stores and loads.
    pub const fn around(map: MmapMode, before: &'static [Act], after: &'static [Act]) -> Self {
        Self {
            before_write: before,
            before_read: before,
            after_write: after,
            after_read: after,
            ..Self::mapped(map)
        }
    }

    /// The same for an object that is created in another way.
    pub const fn created(self, creation: Creation) -> Self {
        Self { creation, ..self }
    }
}

/// The creation of an object.
#[derive(Clone, Copy)]
pub enum Creation {
    /// GEM_CREATE.
    Plain,
    /// GEM_CREATE and SET_CACHING.
    Caching(CachingMode),
    /// GEM_CREATE_EXT with SET_PAT.
    Pat(u8),
}

/// The mappings of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mappings {
    /// One for stores and loads.
    One,
    /// One for each: the driver keeps a mapping for each set of flags.
    EachAccess,
}

/// The way in which bytes are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Through the mapping.
    Mapping,
    /// By PWRITE.
    Pwrite,
}

/// An operation of a driver on a buffer.
#[derive(Clone, Copy)]
pub enum Act {
    /// SET_DOMAIN with these read domains and this write domain.
    SetDomain(Domains, Domains),
    /// GEM_WAIT.
    Wait,
    /// SW_FINISH.
    SwFinish,
    /// MFENCE, CLFLUSH of the whole mapping, MFENCE.
    FlushMapping,
    /// MFENCE, CLFLUSH of the lines of the access, MFENCE.
    FlushRows,
    /// The same for lines that lie as many bytes further on, if the mapping has them.
    FlushRowsAhead(u64),
}

/// The library's calls for a buffer.
pub enum Calls {
    /// None: the buffer is not adopted.
    None,
    /// `gemco_bo_flush_range` for these readers after a store, `gemco_bo_invalidate_range` before a load.
    Ranges(&'static [Path]),
    /// The same, with `gemco_bo_remap`, `gemco_bo_wait` and `gemco_bo_invalidate_range` before each lock. The buffer is adopted
    /// for these readers, with contents that are not known. If another process can show it, `gemco_prepare_scanout` for as
    /// long as it exists.
    Lock(&'static [Path]),
    /// `gemco_access_begin` and `gemco_access_end`; `gemco_bo_wait` before a store, unless the driver waits itself.
    Guards,
    /// `gemco_bo_wait` and `gemco_bo_upload`; guards for loads.
    Upload,
    /// `gemco_bo_mark_written` after a store to a buffer that stays mapped.
    Marks,
}

/// A step of a frame. Buffers are named by index.
pub enum Step {
    /// The CPU stores new bytes.
    Write(usize, Rows),
    /// The CPU loads.
    Read(usize, Rows),
    /// The GPU accesses buffers.
    Batch(&'static [Use]),
    /// The display shows the buffer, and then another one.
    Show(usize),
}

/// An access of a batch.
pub struct Use {
    /// The buffer.
    pub buffer: usize,
    /// Loads, or stores of new bytes.
    pub access: Access,
    /// The bytes.
    pub rows: Rows,
    /// The MOCS entry.
    pub mocs: u8,
}

/// Rows of bytes at equal distances.
#[derive(Clone, Copy)]
pub struct Rows {
    offset: u64,
    bytes: u64,
    pitch: u64,
    count: u64,
}

impl Rows {
    /// One row of `bytes` at `offset`.
    pub const fn range(offset: u64, bytes: u64) -> Self {
        Self { offset, bytes, pitch: bytes, count: 1 }
    }

    /// `count` rows of `bytes`, the first at `offset`, `pitch` from start to start.
    pub const fn rect(offset: u64, bytes: u64, pitch: u64, count: u64) -> Self {
        Self { offset, bytes, pitch, count }
    }

    /// Returns offset and size of each row.
    pub fn each(self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.count).map(move |row| (self.offset + row * self.pitch, self.bytes))
    }
}
