//! An engine: what it is, how work reaches it, its state, and where its registers are.

use super::Gpu;
use super::memory::Address;
use crate::qemu::clock;

/// Where an engine reports its interrupts: bank and bit of the generation's interrupt registers,
/// and (gen11 and later) the class and instance that the identity register names.
#[derive(Clone, Copy, Default)]
pub struct Source {
    pub bank: usize,
    pub bit: u32,
    pub class: u32,
    pub instance: u32,
}

/// An engine in a generation's list. Lists name all engines of a generation: those that a platform
/// does not have are never looked at by the driver.
pub struct EngineInfo {
    pub name: &'static str,
    pub base: u32,
    /// The register with the address of the status page, for index-relative stores.
    pub status_page: u32,
    pub source: Source,
}

/// A batch that jumps in a circle until somebody changes memory.
#[derive(Clone, Copy)]
pub struct Spin {
    /// The place that is expected to change, and what was there.
    pub watched: Address,
    pub seen: u32,
    /// When the batch was last run.
    pub at: u64,
}

pub struct Engine {
    pub info: &'static EngineInfo,
    /// Set while a spinning batch keeps the engine busy.
    pub spin: Option<Spin>,
    /// A shader that never ends, or a command that the engine does not have, keeps it busy until it is reset.
    pub hangs: bool,
    /// Descriptors of the contexts that run; not empty only while the engine waits.
    pub contexts: Vec<u64>,
    pub elsp: ElspWrites,
}

impl Engine {
    pub fn new(info: &'static EngineInfo) -> Self {
        Self { info, spin: None, hangs: false, contexts: Vec::new(), elsp: ElspWrites::default() }
    }
}

/// How work reaches an engine.
pub enum Submission {
    /// RING_TAIL (before gen8).
    Ring,
    /// RING_ELSP (gen8, gen9).
    Elsp(StatusFormat),
    /// The submit queue (gen11 and later).
    SubmitQueue(StatusFormat),
}

/// The form of entries in the context status buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StatusFormat {
    /// Events as bits, the context id above (gen8 to gen11).
    Gen8,
    /// The contexts switched to and away from (gen12).
    Gen12,
    /// The same with longer context ids (12.55 and later).
    XeHp,
}

impl Submission {
    /// Entries in the status buffer, and the dword of the status page with the one written last.
    pub fn status_buffer(&self) -> Option<(StatusFormat, u32, u64)> {
        match *self {
            Self::Ring => None,
            Self::Elsp(format) => Some((format, 6, 0x1f)),
            Self::SubmitQueue(format) => Some((format, 12, 0x2f)),
        }
    }
}

/// The writes to RING_ELSP so far: second context, upper half first, then the first one.
#[derive(Clone, Copy, Default)]
pub struct ElspWrites {
    pub words: [u32; 4],
    pub count: usize,
}

/// Registers of an engine, relative to its base, and the size of the block.
pub mod offset {
    /// RING_TAIL: a write starts the engine.
    pub const TAIL: u32 = 0x30;
    /// RING_HEAD: follows as commands are executed.
    pub const HEAD: u32 = 0x34;
    /// RING_START: the ring buffer's address in the global table.
    pub const START: u32 = 0x38;
    /// RING_CTL: the size of the ring buffer; bit 0: valid.
    pub const CONTROL: u32 = 0x3c;
    /// RING_ACTHD: the active head, which hang detection looks at.
    pub const ACTIVE_HEAD: u32 = 0x74;
    /// RING_HWS_PGA: the address of the status page.
    pub const STATUS_PAGE: u32 = 0x80;
    /// RING_MI_MODE: masked; bit 8 stops the ring, bit 9 reads "idle", which the driver waits for.
    pub const MI_MODE: u32 = 0x9c;
    /// RING_INSTPM: masked; bit 5 asks for a sync flush, and clears when it is done.
    pub const INSTPM: u32 = 0xc0;
    /// CCID: the image of a ring's context.
    pub const CONTEXT_ID: u32 = 0x180;
    /// RING_RESET_CTL: masked; bit 0 requests a reset, bit 1 answers "ready for it", bit 2 is a
    /// catastrophic error.
    pub const RESET_CONTROL: u32 = 0xd0;
    /// RING_PP_DIR_BASE: the directory of gen6's per-process tables.
    pub const DIRECTORY_BASE: u32 = 0x228;
    /// RING_ELSP: contexts to run, in four writes (gen8, gen9).
    pub const ELSP: u32 = 0x230;
    /// RING_EXECLIST_STATUS_HI: the upper half of the descriptor of the context that runs, by which a reset finds the request
    /// that hangs.
    pub const STATUS_CONTEXT: u32 = 0x238;
    /// GEN8_RING_PDP_LDW: four directory pointers of 64 bits.
    pub const DIRECTORY_POINTERS: u32 = 0x270;
    /// RING_MODE_GEN7: masked.
    pub const MODE: u32 = 0x29c;
    /// RING_TIMESTAMP and its upper half.
    pub const TIMESTAMP: u32 = 0x358;
    pub const TIMESTAMP_HIGH: u32 = 0x35c;
    /// RING_CONTEXT_STATUS_BUF: what happened to contexts.
    pub const STATUS_BUFFER: u32 = 0x370;
    /// RING_CONTEXT_STATUS_PTR: the lower bits are the entry written last.
    pub const STATUS_POINTER: u32 = 0x3a0;
    /// RING_EXECLIST_SQ_CONTENTS: contexts to run (gen11 and later), and RING_EXECLIST_CONTROL,
    /// where bit 0 submits them.
    pub const SUBMIT_QUEUE: u32 = 0x510;
    pub const SUBMIT_QUEUE_END: u32 = 0x54f;
    pub const SUBMIT_CONTROL: u32 = 0x550;
    pub const END: u32 = 0x600;
}

/// A timestamp every 80 ns, as on most platforms.
const TIMESTAMP_NS: u64 = 80;
/// How often waiting engines are looked at.
const RETRY_NS: u64 = 500_000;
impl Gpu {
    pub fn engine_get(&self, engine: usize, offset: u32) -> u32 {
        self.registers.get(self.engines[engine].info.base + offset)
    }

    pub fn engine_set(&mut self, engine: usize, offset: u32, value: u32) {
        self.registers.set(self.engines[engine].info.base + offset, value);
    }

    /// RING_PP_DIR_BASE.
    pub fn directory_base(&self, engine: usize) -> u32 {
        self.engine_get(engine, offset::DIRECTORY_BASE)
    }

    /// One of the four directory pointers of three-level tables.
    pub fn directory_pointer(&self, engine: usize, index: u64) -> u64 {
        let low = offset::DIRECTORY_POINTERS + 8 * index as u32;
        u64::from(self.engine_get(engine, low)) | u64::from(self.engine_get(engine, low + 4)) << 32
    }

    /// The clock of RING_TIMESTAMP and of PIPE_CONTROL.
    pub fn timestamp(&self) -> u64 {
        clock() / TIMESTAMP_NS
    }

    /// Looks again at a waiting engine after a while.
    pub fn retry_later(&self) {
        self.retry.arm(RETRY_NS);
    }
}
