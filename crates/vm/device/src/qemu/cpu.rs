//! The state of the guest's CPU: registers and page tables, found in QEMU's structure by what a debugger is told of it.

use super::ffi::Object;
use super::symbols::symbols;
use super::{fatal, guest_ram};
use std::ffi::c_int;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// How much of the CPU's structure is searched.
const SEARCHED: usize = 64 << 10;
/// QEMU's order of registers (a c d b sp bp si di r8 ...) in the debugger's numbers (a b c d si di bp sp r8 ...).
const REGISTERS: [c_int; 16] = [0, 2, 3, 1, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];
pub const COUNTER: u8 = 1;
pub const STACK_POINTER: u8 = 4;
pub const DESTINATION: u8 = 7;
/// The debugger's numbers of segments and of control registers, and QEMU's order of segments: es cs ss ds fs gs.
const SEGMENTS: [c_int; 6] = [21, 18, 19, 20, 22, 23];
const FS_BASE: c_int = 24;
const GS_BASE: c_int = 25;
const CR0: c_int = 27;
const CR2: c_int = 28;
const CR3: c_int = 29;
const CR4: c_int = 30;
/// `SegmentCache`: selector, base, limit, flags.
const SEGMENT: usize = 24;
const SEGMENT_BASE: usize = 8;
const CODE_SEGMENT: usize = 1;
/// IA32_PAT as Linux sets it: WB WC UC- UC WB WP UC- WT.
const LINUX_PAT: u64 = 0x0407_0506_0007_0106;

/// Memory types in IA32_PAT.
const UNCACHED: u8 = 0;
const WRITE_COMBINING: u8 = 1;
const UNCACHED_MINUS: u8 = 7;

const PRESENT: u64 = 1 << 0;
const WRITABLE: u64 = 1 << 1;
const DIRTY: u64 = 1 << 6;
const LARGE: u64 = 1 << 7;
const ENTRY_ADDRESS: u64 = 0xf_ffff_ffff_f000;

/// The CPU, and where its registers are.
pub struct Cpu {
    pub object: Object,
    /// `CPUX86State`, which starts with the sixteen registers.
    state: *const u8,
    segments: usize,
    cr3: usize,
    pat: usize,
}

// SAFETY: the structure lives as long as the process; what is read from it may be of any moment.
unsafe impl Send for Cpu {}
// SAFETY: as above.
unsafe impl Sync for Cpu {}

static CPU: OnceLock<Cpu> = OnceLock::new();

/// The guest's CPU, once [`find`] has found it.
pub fn cpu() -> Option<&'static Cpu> {
    CPU.get()
}

/// Forgets what the TLB knows.
pub fn flush_tlb() {
    if let Some(cpu) = cpu() {
        // SAFETY: the CPU lives on. Other threads than its own only ask it to do so.
        unsafe { (symbols().tlb_flush)(cpu.object) }
    }
}

/// Code that was translated before is translated again: the functions whose flushes are ignored are others.
pub fn translate_again() {
    if let Some(cpu) = cpu() {
        // SAFETY: the CPU lives on.
        unsafe { (symbols().tb_flush)(cpu.object) }
    }
}

/// How a page is mapped.
pub struct Mapping {
    pub address: u64,
    pub kind: Kind,
    pub writable: bool,
}

/// How a page is cached. Write-through and write-protected count as write-back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    WriteBack,
    WriteCombining,
    Uncached,
}

/// Returns a register's value, as a debugger gets it.
fn debugger_register(object: Object, number: c_int) -> u64 {
    let symbols = symbols();
    // SAFETY: QEMU appends the register's bytes to the array.
    unsafe {
        let bytes = (symbols.g_byte_array_new)();
        (symbols.x86_cpu_gdb_read_register)(object, bytes.cast(), number);
        let mut value = [0; 8];
        let length = ((*bytes).length as usize).min(8);
        (*bytes).data.copy_to_nonoverlapping(value.as_mut_ptr(), length);
        (symbols.g_byte_array_unref)(bytes);
        u64::from_le_bytes(value)
    }
}

/// The only place among `places` where `is` holds; otherwise the process ends.
fn only(what: &str, places: impl Iterator<Item = usize>, is: impl Fn(usize) -> bool) -> usize {
    let found: Vec<usize> = places.filter(|place| is(*place)).collect();
    match found[..] {
        [place] => place,
        _ => fatal(&format!("--cache: {} places for {what} in this QEMU's CPU", found.len())),
    }
}

/// Finds the CPU. It has to be in the kernel, in 64-bit mode.
pub fn find() {
    // SAFETY: there is a CPU with this number.
    let object = unsafe { (symbols().qemu_get_cpu)(0) };
    let mut bytes = vec![0; SEARCHED];
    // The kernel reads it: a structure that is shorter does not fault.
    let length = File::open("/proc/self/mem")
        .and_then(|memory| memory.read_at(&mut bytes, object.addr() as u64))
        .unwrap_or(0);
    bytes.truncate(length);
    let word = |place: usize| {
        bytes
            .get(place..place + 8)
            .and_then(|bytes| bytes.first_chunk())
            .map(|bytes| u64::from_le_bytes(*bytes))
    };
    let has = |place: usize, register: c_int| word(place) == Some(debugger_register(object, register));
    let places = || (0..length).step_by(8);

    let registers =
        only("registers", places(), |place| (0..16).all(|index| has(place + 8 * index, REGISTERS[index])));
    let segments = only("segments", places(), |place| {
        let selectors = (0..6).all(|index| {
            let selector = word(place + SEGMENT * index).map(|word| word & 0xffff_ffff);
            selector == Some(debugger_register(object, SEGMENTS[index]) & 0xffff)
        });
        let base = |index: usize| place + SEGMENT * index + SEGMENT_BASE;
        selectors && has(base(4), FS_BASE) && has(base(5), GS_BASE)
    });
    let cr3 = only("control registers", places(), |place| {
        has(place, CR3) && has(place + 8, CR4) && place >= 24 && has(place - 8, CR2) && has(place - 24, CR0)
    });
    let pat = only("IA32_PAT", places(), |place| word(place) == Some(LINUX_PAT));
    let state = object.cast::<u8>().wrapping_add(registers).cast_const();
    let found =
        Cpu { object, state, segments: segments - registers, cr3: cr3 - registers, pat: pat - registers };
    if CPU.set(found).is_err() {
        fatal("a machine has one CPU");
    }
}

impl Cpu {
    /// `CPUX86State`.
    pub fn state(&self) -> Object {
        self.state.cast_mut().cast()
    }

    fn word(&self, offset: usize) -> u64 {
        // SAFETY: a place in the structure, where `find` found a register.
        unsafe { self.state.add(offset).cast::<u64>().read_volatile() }
    }

    /// One of the sixteen registers, in the order of their numbers in instructions.
    pub fn register(&self, number: u8) -> u64 {
        self.word(8 * usize::from(number & 15))
    }

    pub fn segment_base(&self, segment: u8) -> u64 {
        self.word(self.segments + SEGMENT * usize::from(segment) + SEGMENT_BASE)
    }

    /// Whether a program runs, not the kernel.
    pub fn is_user(&self) -> bool {
        self.word(self.segments + SEGMENT * CODE_SEGMENT) & 3 == 3
    }

    /// Walks the guest's page tables.
    pub fn walk(&self, virtual_address: u64) -> Option<Mapping> {
        let mut table = self.word(self.cr3) & ENTRY_ADDRESS;
        let mut writable = true;
        for level in (0..4).rev() {
            let shift = 12 + 9 * level;
            let entry = guest_ram::word(table + 8 * (virtual_address >> shift & 0x1ff))?;
            if entry & PRESENT == 0 {
                return None;
            }
            writable &= entry & WRITABLE != 0;
            if level != 0 && (level == 3 || entry & LARGE == 0) {
                table = entry & ENTRY_ADDRESS;
                continue;
            }
            let pat = if level == 0 { entry >> 7 & 1 } else { entry >> 12 & 1 };
            let index = pat << 2 | entry >> 3 & 3;
            let offset = (1 << shift) - 1;
            let kind = match (self.word(self.pat) >> (8 * index)) as u8 & 7 {
                UNCACHED | UNCACHED_MINUS => Kind::Uncached,
                WRITE_COMBINING => Kind::WriteCombining,
                _ => Kind::WriteBack,
            };
            let address = entry & ENTRY_ADDRESS & !offset | virtual_address & offset;
            return Some(Mapping { address, kind, writable: writable && entry & DIRTY != 0 });
        }
        None
    }

    /// Reads a word of the kernel's or the program's memory.
    pub fn read(&self, virtual_address: u64) -> Option<u64> {
        guest_ram::word(self.walk(virtual_address)?.address)
    }
}
