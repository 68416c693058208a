//! The command streamers: their registers, and submission through the ring buffer registers (before
//! gen8). Later generations submit contexts: see [`crate::engines::execlists`].

use super::commands::{HEAD_MASK, Ring, TAIL_MASK, ring_size};
use crate::gpu::Gpu;
use crate::gpu::engine::{ElspWrites, Submission, offset};
use crate::gpu::registers::masked;
use crate::qemu::clock;
use crate::translation::page_tables::Context;

const STOP_RING: u32 = 1 << 8;
const MODE_IDLE: u32 = 1 << 9;
const SYNC_FLUSH: u32 = 1 << 5;
const REQUEST_RESET: u32 = 1 << 0;
const READY_TO_RESET: u32 = 1 << 1;
const CATASTROPHIC_ERROR: u32 = 1 << 2;

/// How often spinning batches are run again though nothing changed.
const SPIN_AGAIN_NS: u64 = 20_000_000;

impl Gpu {
    /// The engine that a register belongs to, and its offset there.
    fn engine_register(&self, register: u32) -> Option<(usize, u32)> {
        self.engines.iter().enumerate().find_map(|(index, engine)| {
            let offset = register.checked_sub(engine.info.base)?;
            (offset < offset::END).then_some((index, offset))
        })
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

    /// Resets the engines that GEN6_GDRST names: before gen11 by a bit for each, bit 0 for all of them.
    pub fn reset_domains(&mut self, domains: u32) {
        for engine in 0..self.engines.len() {
            let bit = match (self.platform.version, self.engines[engine].info.name) {
                (11.., _) => 0,
                (_, "rcs0") => 1,
                (_, "vcs0") => 2,
                (_, "bcs0") => 3,
                (_, "vecs0") => 4,
                (_, "vcs1") => 7,
                _ => 0,
            };
            if self.platform.version >= 11 || domains & (1 | 1 << bit) != 0 {
                self.reset_engine(engine);
            }
        }
    }

    /// Resets all engines. Whichever engine the driver names, it resets all that it left hanging.
    pub fn reset_engines(&mut self) {
        for engine in 0..self.engines.len() {
            self.reset_engine(engine);
        }
    }

    fn reset_engine(&mut self, engine: usize) {
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
