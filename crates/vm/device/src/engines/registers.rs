//! The command streamers: their registers, and submission through the ring buffer registers (before
//! gen8). Later generations submit contexts: see [`crate::engines::execlists`].

use crate::engines::commands::Ring;
use crate::engines::execlists::{ElspWrites, Submission};
use crate::gpu::memory::Address;
use crate::gpu::registers::masked;
use crate::gpu::{Gpu, Source};
use crate::qemu::clock;
use crate::translation::page_tables::Context;

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
    /// A kernel that never ends, or a command that the engine does not have, keeps it busy until it is reset.
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

const STOP_RING: u32 = 1 << 8;
const MODE_IDLE: u32 = 1 << 9;
const SYNC_FLUSH: u32 = 1 << 5;
const REQUEST_RESET: u32 = 1 << 0;
const READY_TO_RESET: u32 = 1 << 1;
const CATASTROPHIC_ERROR: u32 = 1 << 2;

/// A timestamp every 80 ns, as on most platforms.
const TIMESTAMP_NS: u64 = 80;
/// How often waiting engines are looked at, and spinning batches run again though nothing changed.
const RETRY_NS: u64 = 500_000;
const SPIN_AGAIN_NS: u64 = 20_000_000;

/// Bits of RING_HEAD, RING_TAIL and RING_CTL that are addresses and a size.
pub const HEAD_MASK: u32 = 0x1f_fffc;
pub const TAIL_MASK: u32 = 0x1f_fff8;

/// The size of the ring buffer in bytes, from RING_CTL.
pub fn ring_size(control: u32) -> u32 {
    (control & 0x1f_f000) + 0x1000
}

impl Gpu {
    /// The engine that a register belongs to, and its offset there.
    fn engine_register(&self, register: u32) -> Option<(usize, u32)> {
        self.engines.iter().enumerate().find_map(|(index, engine)| {
            let offset = register.checked_sub(engine.info.base)?;
            (offset < offset::END).then_some((index, offset))
        })
    }

    pub fn engine_get(&self, engine: usize, offset: u32) -> u32 {
        self.registers.get(self.engines[engine].info.base + offset)
    }

    pub fn engine_set(&mut self, engine: usize, offset: u32, value: u32) {
        self.registers.set(self.engines[engine].info.base + offset, value);
    }

    /// Where the engine's status page is.
    pub fn status_page(&self, engine: usize) -> Option<Address> {
        let page = self.engine_get(engine, offset::STATUS_PAGE) & !0xfff;
        self.translate_global(page.into())
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

    /// Engine registers that do not read back what was written.
    pub fn engine_read(&self, register: u32) -> Option<u32> {
        let (engine, offset) = self.engine_register(register)?;
        match offset {
            offset::MI_MODE => Some(self.registers.get(register) | MODE_IDLE),
            offset::TIMESTAMP => Some(self.timestamp() as u32),
            offset::TIMESTAMP_HIGH => Some((self.timestamp() >> 32) as u32),
            offset::STATUS_CONTEXT if !matches!(self.platform.submission, Submission::Ring) => {
                Some(self.engines[engine].contexts.first().map_or(0, |descriptor| (descriptor >> 32) as u32))
            }
            offset::STATUS_POINTER => {
                let written = self.status_write_pointer(engine)?;
                Some(self.registers.get(register) & !0xf | written & 0xf)
            }
            _ => None,
        }
    }

    /// Engine registers with an effect; false for the others.
    pub fn engine_write(&mut self, register: u32, value: u32) -> bool {
        let Some((engine, offset)) = self.engine_register(register) else {
            return false;
        };
        match (offset, &self.platform.submission) {
            (offset::RESET_CONTROL, _) => {
                let old = self.registers.get(register);
                let new = masked(old & !READY_TO_RESET, value);
                let answer =
                    if new & REQUEST_RESET != 0 { new | READY_TO_RESET } else { new & !CATASTROPHIC_ERROR };
                self.registers.set(register, answer);
            }
            (offset::MI_MODE, Submission::Ring) => {
                self.registers.set_masked(register, value);
                self.run_ring_buffer(engine);
            }
            (offset::INSTPM, _) => self.registers.set_masked(register, value & !SYNC_FLUSH),
            (offset::MI_MODE | offset::MODE, _) => self.registers.set_masked(register, value),
            (offset::TAIL, Submission::Ring) => {
                self.registers.set(register, value);
                self.run_ring_buffer(engine);
            }
            (offset::ELSP, Submission::Elsp(_)) => self.elsp_write(engine, value),
            (offset::SUBMIT_CONTROL, Submission::SubmitQueue(_)) => {
                if value & 1 != 0 {
                    self.submit_queue(engine);
                }
            }
            _ => return false,
        }
        true
    }

    /// Runs what is in the ring buffer, unless the ring is stopped or waits.
    fn run_ring_buffer(&mut self, engine: usize) {
        let control = self.engine_get(engine, offset::CONTROL);
        let mut ring = Ring {
            start: self.engine_get(engine, offset::START),
            size: ring_size(control),
            head: self.engine_get(engine, offset::HEAD) & HEAD_MASK,
            tail: self.engine_get(engine, offset::TAIL) & TAIL_MASK,
        };
        let stopped = self.engines[engine].hangs || self.engine_get(engine, offset::MI_MODE) & STOP_RING != 0;
        if control & 1 == 0 || stopped || ring.head == ring.tail {
            return;
        }
        let context = Context {
            engine,
            root: 0,
            status_page: u64::from(self.registers.get(self.engines[engine].info.status_page)) & !0xfff,
        };
        self.engines[engine].spin = None;
        let flow = self.run_ring(&mut ring, &context);
        self.engine_set(engine, offset::HEAD, ring.head);
        self.engine_set(engine, offset::ACTIVE_HEAD, ring.head);
        if flow.is_break() && !self.engines[engine].hangs {
            self.retry_later();
        }
    }

    /// Looks again at a waiting engine after a while.
    pub fn retry_later(&self) {
        self.retry.arm(RETRY_NS);
    }

    /// The timer rang: engines that wait try again.
    pub fn retry_blocked(&mut self) {
        for engine in 0..self.engines.len() {
            if let Some(spin) = self.engines[engine].spin
                && self.memory.read_u32(spin.watched) == spin.seen
                && clock() - spin.at < SPIN_AGAIN_NS
            {
                self.retry_later();
                continue;
            }
            match self.platform.submission {
                Submission::Ring => self.run_ring_buffer(engine),
                Submission::Elsp(_) | Submission::SubmitQueue(_) => self.run_contexts(engine),
            }
        }
    }

    pub fn reset_engine(&mut self, engine: usize) {
        let state = &mut self.engines[engine];
        state.contexts.clear();
        state.spin = None;
        state.hangs = false;
        state.elsp = ElspWrites::default();
        for register in [
            offset::TAIL,
            offset::HEAD,
            offset::START,
            offset::CONTROL,
            offset::CONTEXT_ID,
            offset::RESET_CONTROL,
            offset::MI_MODE,
        ] {
            self.engine_set(engine, register, 0);
        }
    }
}
