//! Execution of command streams: ring buffers and batches. Modelled are the commands that the
//! driver's own requests consist of and those that simple user batches need: stores, register loads
//! and stores, flushes with a store, semaphores, jumps, copies and fills (see
//! [`crate::engines::blitter`]), and shaders (see [`crate::engines::compute`]). All others are skipped, but for some of the blitter's.

use super::blitter;
use super::fetch::Command;
use super::mi;
use crate::gpu::Gpu;
use crate::gpu::engine::{Spin, offset};
use crate::gpu::memory::Address;
use crate::qemu::clock;
use crate::translation::page_tables::{Context, Space};
use std::ops::ControlFlow::{self, Break, Continue};

/// A ring buffer in the global address space.
pub struct Ring {
    pub start: u32,
    pub size: u32,
    pub head: u32,
    pub tail: u32,
}

/// Bits of RING_HEAD, RING_TAIL and RING_CTL that are addresses and a size.
pub const HEAD_MASK: u32 = 0x1f_fffc;
pub const TAIL_MASK: u32 = 0x1f_fff8;

/// The size of the ring buffer in bytes, from RING_CTL.
pub fn ring_size(control: u32) -> u32 {
    (control & 0x1f_f000) + 0x1000
}

/// More commands than this in one run are an accident: an endless stream without jumps.
const RUNAWAY: u32 = 1 << 20;
/// Second-level batches may start batches themselves, but not for ever.
const MAX_DEPTH: u32 = 2;
/// A batch that jumped more often than this to one place spins.
const SPIN_JUMPS: u32 = 2;

/// PIPE_CONTROL: the upper half of its first dword.
const PIPE_CONTROL: u32 = 0x7a00;
/// BATCH_BUFFER_START: the batch is in the per-process space; it is of the second level.
const BATCH_PER_PROCESS: u32 = 1 << 8;
const BATCH_SECOND_LEVEL: u32 = 1 << 22;
/// The address is in the global space (stores, semaphores, conditional end).
const USE_GLOBAL: u32 = 1 << 22;
/// STORE_DWORD_IMM: a qword. FLUSH_DW, PIPE_CONTROL: the address is an index into the status page.
const STORE_QWORD: u32 = 1 << 21;
const STORE_INDEX: u32 = 1 << 21;
/// CONDITIONAL_BATCH_BUFFER_END: compare with memory.
const COMPARE_MEMORY: u32 = 1 << 21;
/// ATOMIC: the operands are in the command; the old value goes to a register.
const ATOMIC_INLINE: u32 = 1 << 18;
const ATOMIC_RETURNS: u32 = 1 << 16;
/// SEMAPHORE_WAIT: compare with a register.
const COMPARE_REGISTER: u32 = 1 << 16;
/// FLUSH_DW, PIPE_CONTROL: raise a user interrupt.
const NOTIFY: u32 = 1 << 8;
/// PIPE_CONTROL: the address is in the global space; bit 2 of it says so before gen8 and in
/// FLUSH_DW.
const PIPE_CONTROL_GLOBAL: u32 = 1 << 24;
const ADDRESS_GLOBAL: u32 = 1 << 2;
/// Post-sync operations (bits 15..14): write the immediate, write the timestamp.
const POST_SYNC_IMMEDIATE: u32 = 1;
const POST_SYNC_TIMESTAMP: u32 = 3;
/// The user interrupt's event.
const USER_EVENT: u32 = 1 << 0;

/// The comparison in bits 14..12 of semaphores and conditional ends.
fn compare(command: u32, left: u32, right: u32) -> bool {
    match command >> 12 & 7 {
        0 => left > right,
        1 => left >= right,
        2 => left < right,
        3 => left <= right,
        4 => left == right,
        _ => left != right,
    }
}

impl Gpu {
    /// Whether addresses in commands have 64 bits.
    fn wide(&self) -> bool {
        self.platform.version >= 8
    }

    /// The address in a command, at this dword.
    fn address(&self, command: &Command, index: usize) -> u64 {
        let low = command.words[index].into();
        if self.wide() { u64::from(command.words[index + 1] & 0xffff) << 32 | low } else { low }
    }

    /// Runs a ring buffer from head to tail; `Break`: the command at the head has to wait.
    pub fn run_ring(&mut self, ring: &mut Ring, context: &Context) -> ControlFlow<()> {
        for _ in 0..RUNAWAY {
            if ring.head == ring.tail {
                break;
            }
            let at = u64::from(ring.start.wrapping_add(ring.head));
            let mut command =
                Command { words: self.fetch(context, Space::Global, at), space: Space::Global, at };
            let left = ring.size.saturating_sub(ring.head) / 4;
            if let Some(wrapped) = command.words.get_mut(left as usize..) {
                let start = self.fetch(context, Space::Global, ring.start.into());
                wrapped.copy_from_slice(&start[..wrapped.len()]);
            }
            if command.opcode() == mi::BATCH_BUFFER_START {
                let space = Space::per_process_if(command.words[0] & BATCH_PER_PROCESS != 0);
                let batch = self.address(&command, 1) & !3;
                self.run_batch(context, space, batch, 0)?;
            } else {
                self.execute(context, &command)?;
            }
            let length = command.length(self.platform.version);
            ring.head = ring.head.wrapping_add(4 * length) % ring.size;
        }
        Continue(())
    }

    /// Runs a batch until its end; `Break`: it has to wait, and will be run again from its start.
    fn run_batch(&mut self, context: &Context, mut space: Space, mut at: u64, depth: u32) -> ControlFlow<()> {
        self.trace(format_args!("batch at {at:x}"));
        let mut jumps: Vec<(u64, u32)> = Vec::new();
        let mut watched = None;
        for _ in 0..RUNAWAY {
            let command = Command { words: self.fetch(context, space, at), space, at };
            let first = command.words[0];
            let next = at.wrapping_add(4 * u64::from(command.length(self.platform.version)));
            match command.opcode() {
                0 => {
                    // MI_NOOP, often many of them.
                    let noops = command.words.iter().take_while(|word| **word == 0).count();
                    at = at.wrapping_add(4 * noops.max(1) as u64);
                    continue;
                }
                mi::BATCH_BUFFER_END => return Continue(()),
                mi::CONDITIONAL_BATCH_BUFFER_END if first & COMPARE_MEMORY != 0 => {
                    let global = first & USE_GLOBAL != 0;
                    let operand = self.address(&command, 2) & !3;
                    watched = self.translate(context, Space::per_process_if(!global), operand);
                    let value = watched.map_or(0, |address| self.memory.read_u32(address));
                    if !compare(first, value, command.words[1]) {
                        return Continue(());
                    }
                }
                mi::BATCH_BUFFER_START => {
                    let target = self.address(&command, 1) & !3;
                    let target_space = Space::per_process_if(first & BATCH_PER_PROCESS != 0);
                    if first & BATCH_SECOND_LEVEL == 0 {
                        self.note_jump(context, target_space, target, &mut jumps, watched)?;
                        (at, space) = (target, target_space);
                        continue;
                    }
                    if depth > MAX_DEPTH {
                        return Break(());
                    }
                    self.run_batch(context, target_space, target, depth + 1)?;
                }
                _ => self.execute(context, &command)?,
            }
            at = next;
        }
        self.trace(format_args!("a batch without an end"));
        Break(())
    }

    /// Counts a batch's jumps. One that keeps jumping to the same place waits for the CPU to change
    /// it, or what it last compared with: the engine is left busy until then.
    fn note_jump(
        &mut self,
        context: &Context,
        space: Space,
        target: u64,
        jumps: &mut Vec<(u64, u32)>,
        compared: Option<Address>,
    ) -> ControlFlow<()> {
        let Some((_, count)) = jumps.iter_mut().find(|(to, _)| *to == target) else {
            jumps.push((target, 1));
            return Continue(());
        };
        *count += 1;
        if *count <= SPIN_JUMPS {
            return Continue(());
        }
        let watched = compared.or_else(|| self.translate(context, space, target));
        self.engines[context.engine].spin =
            watched.map(|watched| Spin { watched, seen: self.memory.read_u32(watched), at: clock() });
        Break(())
    }

    fn store(&self, context: &Context, space: Space, at: u64, values: &[u32]) {
        for (at, value) in (at..).step_by(4).zip(values) {
            match self.translate(context, space, at) {
                Some(address) => self.memory.write_u32(address, *value),
                None => self.trace(format_args!("store to unmapped {at:x}")),
            }
        }
    }

    /// Executes a command that is not a jump; `Break`: it has to wait.
    fn execute(&mut self, context: &Context, command: &Command) -> ControlFlow<()> {
        let words = &command.words;
        let [first, second, third, ..] = *words;
        self.trace(format_args!(
            "{} {first:08x} {second:08x} {third:08x}",
            self.engines[context.engine].info.name
        ));
        let space = Space::per_process_if(first & USE_GLOBAL == 0);
        match command.opcode() {
            mi::USER_INTERRUPT => self.raise(context.engine, USER_EVENT),
            mi::STORE_DWORD_IMM => self.store_immediate(context, command, space),
            mi::STORE_DWORD_INDEX => {
                let at = context.status_page + u64::from(second & 0xffc);
                if self.platform.physical_status_page {
                    self.memory.write_u32(Address::Snooped(at), third);
                } else {
                    self.store(context, Space::Global, at, &[third]);
                }
            }
            mi::LOAD_REGISTER_IMM => {
                for pair in 0..(first & 0xff).div_ceil(2) {
                    let register = self.word(context, command, 1 + 2 * pair);
                    let value = self.word(context, command, 2 + 2 * pair);
                    if let (Some(register), Some(value)) = (register, value) {
                        self.platform.generation.load_register(self, register & 0x7f_fffc, value);
                    }
                }
            }
            mi::UPDATE_GTT if self.wide() => {
                for pair in 0..(first & 0x3ff) / 2 {
                    let low = self.word(context, command, 2 + 2 * pair);
                    let high = self.word(context, command, 3 + 2 * pair);
                    if let (Some(low), Some(high)) = (low, high) {
                        let index = u64::from(second >> 12) + u64::from(pair);
                        self.set_global_entry(index, u64::from(high) << 32 | u64::from(low));
                    }
                }
            }
            mi::STORE_REGISTER_MEM => {
                let value = self.registers.get(second & 0x7f_fffc);
                let at = self.address(command, 2) & !3;
                self.store(context, space, at, &[value]);
            }
            mi::ATOMIC if self.wide() => self.atomic(context, command, space),
            mi::FLUSH_DW => self.flush(context, command),
            mi::SEMAPHORE_WAIT => {
                let value = if first & COMPARE_REGISTER != 0 {
                    self.registers.get(third & 0x7f_fffc)
                } else {
                    let at = self.address(command, 2) & !3;
                    self.translate(context, space, at).map_or(0, |address| self.memory.read_u32(address))
                };
                if !compare(first, value, second) {
                    return Break(());
                }
            }
            mi::SET_CONTEXT => self.engine_set(context.engine, offset::CONTEXT_ID, second),
            _ if first >> 16 == PIPE_CONTROL => self.pipe_control(context, command),
            _ if first >> 29 == blitter::CLIENT => return self.blit(context, words),
            _ => {
                if let Some(form) = self.shader_form(context) {
                    return self.shader_command(form, context, command);
                }
            }
        }
        Continue(())
    }

    /// MI_STORE_DWORD_IMM; with many values it writes page tables.
    fn store_immediate(&self, context: &Context, command: &Command, space: Space) {
        let (first, words) = (command.words[0], &command.words);
        let count = if first & STORE_QWORD != 0 { 2 } else { 1 };
        match self.platform.version {
            ..=3 => self.store(context, space, (words[1] & !3).into(), &words[2..3]),
            // Bit 8 of the jump to the batch, which later means the per-process space, marks a batch of a program: it may
            // not store.
            4..=5 if command.space == Space::PerProcess => self.trace(format_args!("store of a program")),
            4..=7 => self.store(context, space, (words[2] & !3).into(), &words[3..3 + count]),
            _ => {
                let length = first & 0x3ff;
                let values = if length > 3 { length - 1 } else { count as u32 };
                let at = self.address(command, 1) & !3;
                for index in 0..values {
                    if let Some(value) = self.word(context, command, 3 + index) {
                        self.store(context, space, at + 4 * u64::from(index), &[value]);
                    }
                }
            }
        }
    }

    /// MI_ATOMIC without registers: its operands are in the command, or it increments or decrements; of a dword or a qword.
    fn atomic(&self, context: &Context, command: &Command, space: Space) {
        let (first, words) = (command.words[0], &command.words);
        let (code, size) = (first >> 8 & 0x1f, first >> 19 & 3);
        let has_operands = first & ATOMIC_INLINE != 0;
        if size > 1 || first & ATOMIC_RETURNS != 0 || !has_operands && !matches!(code, 5 | 6 | 15) {
            return self.trace(format_args!("an atomic operation with registers, or on 16 bytes"));
        }
        let at = self.address(command, 1) & !(if size == 1 { 7 } else { 3 });
        let read = |at| {
            self.translate(context, space, at).map_or(0, |address| u64::from(self.memory.read_u32(address)))
        };
        let join = |low: u64, high: u64| if size == 1 { high << 32 | low } else { low };
        let old = join(read(at), if size == 1 { read(at + 4) } else { 0 });
        let operand = |index: usize| join(words[index].into(), words[index + 2].into());
        let (one, two) = if has_operands { (operand(3), operand(4)) } else { (0, 0) };
        // A dword compares as signed in the upper half.
        let signed = |value: u64| if size == 1 { value as i64 } else { (value as i64) << 32 };
        let new = match code {
            1 => old & one,
            2 => old | one,
            3 => old ^ one,
            4 => one,
            5 => old.wrapping_add(1),
            6 | 15 => old.wrapping_sub(1),
            7 => old.wrapping_add(one),
            8 => old.wrapping_sub(one),
            9 => one.wrapping_sub(old),
            10 if signed(one) > signed(old) => one,
            11 if signed(one) < signed(old) => one,
            12 => old.max(one),
            13 => old.min(one),
            14 if old == one => two,
            _ => old,
        };
        let values = [new as u32, (new >> 32) as u32];
        self.store(context, space, at, &values[..1 + size as usize]);
    }

    /// MI_FLUSH_DW with a post-sync store.
    fn flush(&mut self, context: &Context, command: &Command) {
        let (first, second) = (command.words[0], command.words[1]);
        if first >> 14 & 3 == POST_SYNC_IMMEDIATE {
            let index = first & STORE_INDEX != 0;
            let at = if index {
                context.status_page + u64::from(second & 0xff8)
            } else {
                self.address(command, 1) & !7
            };
            let space = Space::per_process_if(!index && second & ADDRESS_GLOBAL == 0);
            let data = if self.wide() { 3 } else { 2 };
            let end = (command.length(self.platform.version) as usize).clamp(data + 1, data + 2);
            self.store(context, space, at, &command.words[data..end]);
        }
        if first & NOTIFY != 0 {
            self.raise(context.engine, USER_EVENT);
        }
    }

    /// PIPE_CONTROL with a post-sync store.
    fn pipe_control(&mut self, context: &Context, command: &Command) {
        let [_, flags, third, ..] = command.words;
        let global = flags & PIPE_CONTROL_GLOBAL != 0 || !self.wide() && third & ADDRESS_GLOBAL != 0;
        let index = flags & STORE_INDEX != 0;
        let at = if index {
            context.status_page + u64::from(third & 0xff8)
        } else if self.platform.version < 7 {
            self.address(command, 2) & !7
        } else {
            self.address(command, 2) & !3
        };
        let space = Space::per_process_if(!index && !global);
        match flags >> 14 & 3 {
            POST_SYNC_IMMEDIATE => {
                let data = if self.wide() { 4 } else { 3 };
                let length = command.length(self.platform.version) as usize;
                let end = length.clamp(data + 1, data + 2);
                self.store(context, space, at, &command.words[data..end]);
            }
            POST_SYNC_TIMESTAMP => {
                let now = self.timestamp();
                self.store(context, space, at, &[now as u32, (now >> 32) as u32]);
            }
            _ => {}
        }
        if flags & NOTIFY != 0 {
            self.raise(context.engine, USER_EVENT);
        }
    }
}
