//! Submission of contexts (gen8 and later): up to two (gen8, gen9) or eight of them run one after
//! the other, and the context status buffer tells the driver what became of them.
//!
//! Commands run at once, while the driver submits them; a context stays on its engine only while a
//! semaphore or a spinning batch holds it there.

use super::commands::{HEAD_MASK, Ring, TAIL_MASK, ring_size};
use crate::gpu::Gpu;
use crate::gpu::engine::{StatusFormat, offset};
use crate::gpu::memory::Address;
use crate::gpu::platform::PerProcess;
use crate::translation::page_tables::Context;
use std::ops::ControlFlow;

/// Bit 0 of a context descriptor: valid.
const DESCRIPTOR_VALID: u64 = 1;
/// The context image's address in a descriptor.
const DESCRIPTOR_ADDRESS: u64 = 0xffff_f000;
/// The event in bits of the engine's interrupts: GT_CONTEXT_SWITCH_INTERRUPT.
const CONTEXT_SWITCH: u32 = 1 << 8;
/// The status buffer's place in the status page, and the size of an entry.
const STATUS_BUFFER_IN_PAGE: u64 = 0x40;
const STATUS_ENTRY: u32 = 8;
/// Register state starts with the second page of a context image; these are dwords in it, each the
/// value in a register-value pair.
const STATE_PAGE: u64 = 0x1000;
const STATE_HEAD: u64 = 5;
const STATE_TAIL: u64 = 7;
const STATE_START: u64 = 9;
const STATE_CONTROL: u64 = 11;
/// Directory pointer 0, upper half; the lower half is two dwords on, pointer 1 four dwords before.
const STATE_PDP0_HIGH: u64 = 0x31;
const STATE_PDP0_LOW: u64 = 0x33;

/// GEN8_CTX_STATUS_IDLE_ACTIVE, _PREEMPTED, _ELEMENT_SWITCH, _ACTIVE_IDLE, _COMPLETE, _LITE_RESTORE.
const IDLE_ACTIVE: u32 = 1 << 0;
const PREEMPTED: u32 = 1 << 1;
const ELEMENT_SWITCH: u32 = 1 << 2;
const ACTIVE_IDLE: u32 = 1 << 3;
const COMPLETE: u32 = 1 << 4;
const LITE_RESTORE: u32 = 1 << 15;
/// GEN12_CTX_STATUS_SWITCHED_TO_NEW_QUEUE; XEHP_CTX_STATUS_SWITCHED_TO_NEW_QUEUE (upper half).
const GEN12_NEW_QUEUE: u32 = 1 << 0;
const XEHP_NEW_QUEUE: u32 = 1 << 1;
/// GEN12_CTX_SWITCH_DETAIL: 5 is a preemption.
const GEN12_PREEMPTED: u32 = 5;

/// The software context id in a descriptor, or the one that means "none": GEN12_IDLE_CTX_ID and
/// XEHP_IDLE_CTX_ID.
fn gen12_id(descriptor: Option<u64>) -> u32 {
    descriptor.map_or(0x7ff, |descriptor| (descriptor >> 37) as u32 & 0x7ff)
}

fn xehp_id(descriptor: Option<u64>) -> u32 {
    descriptor.map_or(0xffff, |descriptor| (descriptor >> 39) as u32 & 0xffff)
}

/// The id as gen8 reports it: the upper half of the descriptor.
fn gen8_id(descriptor: u64) -> u32 {
    (descriptor >> 32) as u32
}

/// The entry for a new submission that starts with `new` while `old` was running.
fn submitted(format: StatusFormat, old: Option<u64>, new: u64) -> (u32, u32) {
    match (format, old) {
        (StatusFormat::Gen8, None) => (IDLE_ACTIVE, 0),
        (StatusFormat::Gen8, Some(old)) => {
            let same = (old ^ new) & DESCRIPTOR_ADDRESS == 0;
            let restored = if same { LITE_RESTORE } else { 0 };
            (PREEMPTED | restored, gen8_id(old))
        }
        (StatusFormat::Gen12, _) => {
            let detail = if old.is_some() { GEN12_PREEMPTED } else { 0 };
            (gen12_id(Some(new)) << 15 | GEN12_NEW_QUEUE, gen12_id(old) << 15 | detail)
        }
        (StatusFormat::XeHp, _) => (xehp_id(Some(new)) << 10, xehp_id(old) << 10 | XEHP_NEW_QUEUE),
    }
}

/// The entry for a context that ran dry, with `next` after it.
fn completed(format: StatusFormat, done: u64, next: Option<u64>) -> (u32, u32) {
    match format {
        StatusFormat::Gen8 => {
            let then = next.map_or(ACTIVE_IDLE, |_| ELEMENT_SWITCH);
            (COMPLETE | then, gen8_id(done))
        }
        StatusFormat::Gen12 => (gen12_id(next) << 15, gen12_id(Some(done)) << 15),
        StatusFormat::XeHp => (xehp_id(next) << 10, xehp_id(Some(done)) << 10),
    }
}

impl Gpu {
    /// A write to RING_ELSP; the fourth submits.
    pub fn elsp_write(&mut self, engine: usize, value: u32) {
        let elsp = &mut self.engines[engine].elsp;
        elsp.words[elsp.count] = value;
        elsp.count = (elsp.count + 1) % 4;
        if elsp.count == 0 {
            let [high1, low1, high0, low0] = elsp.words.map(u64::from);
            self.submit(engine, &[high0 << 32 | low0, high1 << 32 | low1]);
        }
    }

    /// Submits the contexts in the submit queue registers.
    pub fn submit_queue(&mut self, engine: usize) {
        let base = self.engines[engine].info.base;
        let words: Vec<u64> = (base + offset::SUBMIT_QUEUE..base + offset::SUBMIT_QUEUE_END)
            .step_by(4)
            .map(|register| self.registers.get(register).into())
            .collect();
        let descriptors: Vec<u64> = words
            .chunks_exact(2)
            .map(|pair| pair[1] << 32 | pair[0])
            .take_while(|descriptor| descriptor & DESCRIPTOR_VALID != 0)
            .collect();
        self.submit(engine, &descriptors);
    }

    /// Replaces what runs on an engine.
    fn submit(&mut self, engine: usize, descriptors: &[u64]) {
        let new: Vec<u64> =
            descriptors.iter().copied().filter(|descriptor| descriptor & DESCRIPTOR_VALID != 0).collect();
        let Some(&first) = new.first() else {
            return;
        };
        let running = self.engines[engine].contexts.first().copied();
        let is_same = running.is_some_and(|running| (running ^ first) & DESCRIPTOR_ADDRESS == 0);
        if self.engines[engine].hangs && !is_same {
            // A shader that never ends cannot be preempted.
            return;
        }
        let old = std::mem::replace(&mut self.engines[engine].contexts, new);
        self.report(engine, |format| submitted(format, old.first().copied(), first));
        self.run_contexts(engine);
    }

    /// Runs the contexts on an engine until none is left or one has to wait.
    pub fn run_contexts(&mut self, engine: usize) {
        while let Some(&descriptor) = self.engines[engine].contexts.first() {
            if self.engines[engine].hangs {
                return;
            }
            self.engines[engine].spin = None;
            if self.run_context(engine, descriptor).is_break() {
                self.retry_later();
                return;
            }
            self.engines[engine].contexts.remove(0);
            let next = self.engines[engine].contexts.first().copied();
            self.report(engine, |format| completed(format, descriptor, next));
        }
    }

    /// Runs one context's ring buffer from its head to its tail.
    fn run_context(&mut self, engine: usize, descriptor: u64) -> ControlFlow<()> {
        let image = descriptor & DESCRIPTOR_ADDRESS;
        let Some(state) = self.translate_global(image + STATE_PAGE) else {
            self.trace(format_args!("no context image for {descriptor:x}"));
            return ControlFlow::Continue(());
        };
        let value = |gpu: &Self, index: u64| gpu.memory.read_u32(state.plus(4 * index));
        let wide =
            |gpu: &Self, high: u64, low: u64| u64::from(value(gpu, high)) << 32 | u64::from(value(gpu, low));
        let (start, control) = (value(self, STATE_START), value(self, STATE_CONTROL));
        let mut ring = Ring {
            start,
            size: ring_size(control),
            head: value(self, STATE_HEAD) & HEAD_MASK,
            tail: value(self, STATE_TAIL) & TAIL_MASK,
        };
        if self.platform.per_process == PerProcess::ThreeLevel {
            // The driver changes these registers with commands too.
            for index in 0..4 {
                let pointer = wide(self, STATE_PDP0_HIGH - 4 * index, STATE_PDP0_LOW - 4 * index);
                let register = offset::DIRECTORY_POINTERS + 8 * index as u32;
                self.engine_set(engine, register, pointer as u32);
                self.engine_set(engine, register + 4, (pointer >> 32) as u32);
            }
        }
        let context =
            Context { engine, root: wide(self, STATE_PDP0_HIGH, STATE_PDP0_LOW), status_page: image };
        self.engine_set(engine, offset::START, start);
        self.engine_set(engine, offset::CONTROL, control);
        self.engine_set(engine, offset::TAIL, ring.tail);
        self.trace(format_args!(
            "context {descriptor:x} ring {start:x} head {:x} tail {:x}",
            ring.head, ring.tail
        ));
        let flow = self.run_ring(&mut ring, &context);
        self.memory.write_u32(state.plus(4 * STATE_HEAD), ring.head);
        self.engine_set(engine, offset::HEAD, ring.head);
        flow
    }

    /// Where the engine's status page is.
    fn status_page(&self, engine: usize) -> Option<Address> {
        let page = self.engine_get(engine, offset::STATUS_PAGE) & !0xfff;
        self.translate_global(page.into())
    }

    /// The status buffer entry written last, from the status page.
    pub fn status_write_pointer(&self, engine: usize) -> Option<u32> {
        let (_, _, pointer) = self.platform.submission.status_buffer()?;
        let page = self.status_page(engine)?;
        Some(self.memory.read_u32(page.plus(4 * pointer)))
    }

    /// Adds an entry to the status buffer, in registers and in the status page, and interrupts.
    fn report(&mut self, engine: usize, entry: impl FnOnce(StatusFormat) -> (u32, u32)) {
        let status = self.platform.submission.status_buffer();
        if let Some((format, entries, pointer)) = status
            && let Some(page) = self.status_page(engine)
        {
            let (low, high) = entry(format);
            let last = self.memory.read_u32(page.plus(4 * pointer));
            let next = last.wrapping_add(1) % entries;
            let register = offset::STATUS_BUFFER + next * STATUS_ENTRY;
            self.engine_set(engine, register, low);
            self.engine_set(engine, register + 4, high);
            let at = page.plus(STATUS_BUFFER_IN_PAGE + u64::from(next * STATUS_ENTRY));
            self.memory.write_u32(at, low);
            self.memory.write_u32(at.plus(4), high);
            self.memory.write_u32(page.plus(4 * pointer), next);
            self.trace(format_args!("status [{next}] {low:08x}:{high:08x}"));
        }
        self.raise(engine, CONTEXT_SWITCH);
    }
}
