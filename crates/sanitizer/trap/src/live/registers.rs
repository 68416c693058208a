//! Registers of an interrupted thread, in the frame that the kernel made for the handler.
//!
//! # Safety
//! The frame is the kernel's, and stays valid while the handler runs. Its extended state is an XSAVE area in the standard
//! format (Intel SDM, volume 1, 13.4), whose size the kernel states in the software bytes (`struct _fpx_sw_bytes`).
#![allow(unsafe_code)]

use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::system;
use crate::scan::{Operand, SegmentBase, Source};

/// TF of EFLAGS.
const TRAP_FLAG: u64 = 1 << 8;
/// Largest number of bytes that one instruction stores.
pub(super) const MOST_BYTES: usize = 64;

/// Places of RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15 in the kernel's frame.
const GENERAL: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// CF, PF, AF, ZF, SF and OF of EFLAGS.
pub(super) const STATUS_FLAGS: u64 = 0x8d5;

/// Offsets in the XSAVE area: MMX registers, XMM registers, software bytes, header.
const MMX_AT: usize = 32;
const XMM_AT: usize = 160;
const SOFTWARE_AT: usize = 464;
const HEADER_AT: usize = 512;
/// `FP_XSTATE_MAGIC1`: the area is larger than the 512 bytes of FXSAVE.
const EXTENDED: u32 = 0x4650_5853;

/// A component of the XSAVE area, by its bit in XCR0.
struct Component {
    bit: u32,
    at: AtomicUsize,
}

/// Upper halves of YMM0 to YMM15, upper halves of ZMM0 to ZMM15, and ZMM16 to ZMM31.
static YMM_UPPER: Component = Component { bit: 2, at: AtomicUsize::new(0) };
static ZMM_UPPER: Component = Component { bit: 6, at: AtomicUsize::new(0) };
static ZMM_HIGH: Component = Component { bit: 7, at: AtomicUsize::new(0) };

/// Reads the layout of the XSAVE area (CPUID leaf 0xD). CPUID is slow in virtual machines, so that handlers do not.
// In newer compilers CPUID is safe.
#[allow(unused_unsafe)]
pub(super) fn learn_layout() {
    // SAFETY: each x86-64 CPU has CPUID and leaf 0, which names the last leaf.
    let last = unsafe { __cpuid(0) }.eax;
    for component in [&YMM_UPPER, &ZMM_UPPER, &ZMM_HIGH].into_iter().filter(|_| last >= 0xd) {
        // SAFETY: the CPU has the leaf.
        let at = unsafe { __cpuid_count(0xd, component.bit) }.ebx;
        component.at.store(at as usize, Relaxed);
    }
}

/// The registers of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers(*mut libc::ucontext_t);

impl Registers {
    /// # Safety
    /// The frame is the third argument of a handler that runs as long as the value is used.
    pub unsafe fn new(frame: *mut libc::c_void) -> Self {
        Registers(frame.cast())
    }

    /// Returns the frame.
    pub fn frame(self) -> *mut libc::ucontext_t {
        self.0
    }

    /// Returns a register of the frame's list, such as `REG_RIP`.
    pub fn get(self, place: i32) -> u64 {
        // SAFETY: the frame is valid.
        let list = unsafe { (*self.0).uc_mcontext.gregs };
        list.get(place as usize).map_or(0, |value| *value as u64)
    }

    /// Sets RIP: the thread goes on there.
    pub fn resume_at(self, address: usize) {
        self.set(libc::REG_RIP, address as u64);
    }

    /// Sets a register of the frame's list.
    pub fn set(self, place: i32, value: u64) {
        // SAFETY: the frame is valid, and only this thread uses it.
        let list = unsafe { &mut (*self.0).uc_mcontext.gregs };
        if let Some(register) = list.get_mut(place as usize) {
            *register = value as i64;
        }
    }

    /// Returns the first word of the set of signals that are blocked when the handler returns.
    pub fn mask(&mut self) -> &mut u64 {
        // SAFETY: the frame is valid, and glibc's set is an array of such words.
        unsafe { &mut *(&raw mut (*self.0).uc_sigmask).cast() }
    }

    /// Sets or clears the trap flag, with which SIGTRAP follows the thread's next instruction. Returns whether it was set.
    pub fn set_trap_flag(self, on: bool) -> bool {
        let was_on = self.has_trap_flag();
        self.set_flags(TRAP_FLAG, if on { TRAP_FLAG } else { 0 });
        was_on
    }

    /// Returns whether the trap flag is set.
    pub fn has_trap_flag(self) -> bool {
        self.get(libc::REG_EFL) & TRAP_FLAG != 0
    }

    /// Sets those flags that `mask` has as `flags` has them.
    pub fn set_flags(self, mask: u64, flags: u64) {
        self.set(libc::REG_EFL, self.get(libc::REG_EFL) & !mask | flags & mask);
    }

    /// Sets a general register by the number that instructions use.
    pub fn set_general(self, number: u8, value: u64) {
        if let Some(&place) = GENERAL.get(usize::from(number)) {
            self.set(place, value);
        }
    }

    /// Returns a general register by the number that instructions use.
    pub fn general(self, number: u8) -> u64 {
        GENERAL.get(usize::from(number)).map_or(0, |&place| self.get(place))
    }

    /// Returns the linear address of a memory operand.
    pub fn linear(self, operand: &Operand) -> usize {
        let base = operand.base.map_or(0, |number| self.general(number));
        let index = operand.index.map_or(0, |number| self.general(number));
        let sum = base.wrapping_add(index << operand.shift).wrapping_add(operand.displacement);
        let offset = if operand.narrow { sum & u64::from(u32::MAX) } else { sum };
        let segment = match operand.segment {
            SegmentBase::Flat => 0,
            SegmentBase::Fs => system::segment_base(ARCH_GET_FS),
            SegmentBase::Gs => system::segment_base(ARCH_GET_GS),
        };
        segment.wrapping_add(offset) as usize
    }

    /// Returns the low bytes of the register that a store takes them from. Upper parts that the frame lacks are zero.
    pub fn bytes(self, source: Source) -> [u8; MOST_BYTES] {
        let mut bytes = [0; MOST_BYTES];
        // SAFETY: the frame is valid; without floating-point state the pointer is null.
        let area: *const u8 = unsafe { (*self.0).uc_mcontext.fpregs }.cast_const().cast();
        let (general, mmx) = match source {
            Source::General(number) => (Some(self.general(number)), None),
            Source::Mmx(number) => (None, Some(number)),
            Source::Vector(number) => {
                // SAFETY: the frame is valid.
                unsafe { vector(area, usize::from(number), &mut bytes) };
                return bytes;
            }
        };
        if let (Some(value), Some(low)) = (general, bytes.first_chunk_mut()) {
            *low = value.to_le_bytes();
        }
        if let (Some(number @ 0..=7), Some(low)) = (mmx, bytes.get_mut(..8)) {
            // SAFETY: each of the eight registers has 16 bytes; the first 8 are the MMX register.
            unsafe { copy(area, MMX_AT + 16 * usize::from(number), low) };
        }
        bytes
    }
}

impl Registers {
    /// Sets the low `set` bytes of a vector register, 16 or 64: to these bytes, and zeroes above. Returns false, and sets nothing, if the
    /// frame has no room for a part that would change.
    pub fn set_vector(self, number: u8, bytes: &[u8], set: u8) -> bool {
        let mut whole = [0; MOST_BYTES];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        // SAFETY: the frame is valid; without floating-point state the pointer is null.
        let area: *mut u8 = unsafe { (*self.0).uc_mcontext.fpregs }.cast();
        // SAFETY: as above.
        unsafe { set_vector(area, usize::from(number), &whole, usize::from(set)) }
    }
}

/// `ARCH_GET_FS` and `ARCH_GET_GS` of the kernel's asm/prctl.h.
const ARCH_GET_FS: i32 = 0x1003;
const ARCH_GET_GS: i32 = 0x1004;

/// Reads a vector register.
///
/// # Safety
/// The area is the kernel's, or null.
unsafe fn vector(area: *const u8, number: usize, bytes: &mut [u8; MOST_BYTES]) {
    let (low, upper) = bytes.split_at_mut(32);
    let (xmm, ymm) = low.split_at_mut(16);
    // SAFETY: the area's legacy part has 16 XMM registers, the components 16 registers each.
    unsafe {
        if number < 16 {
            copy(area, XMM_AT + 16 * number, xmm);
            copy_component(area, &YMM_UPPER, 16 * number, ymm);
            copy_component(area, &ZMM_UPPER, 32 * number, upper);
        } else if number < 32 {
            copy_component(area, &ZMM_HIGH, 64 * (number - 16), bytes);
        }
    }
}

/// Sets the low `set` bytes of a vector register; returns false if the area lacks a part whose bytes are not zero.
///
/// # Safety
/// As [`vector`].
unsafe fn set_vector(area: *mut u8, number: usize, bytes: &[u8; MOST_BYTES], set: usize) -> bool {
    let (low, upper) = bytes.split_at(32);
    let (xmm, ymm) = low.split_at(16);
    // SAFETY: as in `vector`.
    unsafe {
        if number >= 16 {
            return number < 32 && set_component(area, &ZMM_HIGH, 64 * (number - 16), bytes);
        }
        if set > 16
            && !(set_component(area, &YMM_UPPER, 16 * number, ymm)
                && set_component(area, &ZMM_UPPER, 32 * number, upper))
        {
            return false;
        }
        if !area.is_null() {
            area.add(XMM_AT + 16 * number).copy_from_nonoverlapping(xmm.as_ptr(), xmm.len());
        }
    }
    !area.is_null()
}

/// Copies from a component. It stays zero if the component is in its initial state, or not in the area.
///
/// # Safety
/// The area is the kernel's, or null.
unsafe fn copy_component(area: *const u8, component: &Component, offset: usize, bytes: &mut [u8]) {
    // SAFETY: the caller's obligation; the component has the bytes.
    unsafe {
        let found = find(area, component, offset + bytes.len());
        if let Some((at, _)) = found.filter(|(_, used)| used >> component.bit & 1 == 1) {
            copy(area, at + offset, bytes);
        }
    }
}

/// Copies to a component; returns false if it is not in the area, and the bytes are not zero.
///
/// The kernel saves by XSAVE, which stores a component in its initial state, too (Intel SDM, volume 1, 13.7).
///
/// # Safety
/// The area is the kernel's, or null.
unsafe fn set_component(area: *mut u8, component: &Component, offset: usize, bytes: &[u8]) -> bool {
    // SAFETY: the caller's obligation; the component has the bytes, and the header its first word.
    unsafe {
        let Some((at, used)) = find(area, component, offset + bytes.len()) else {
            return bytes.iter().all(|byte| *byte == 0);
        };
        area.add(at + offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        area.add(HEADER_AT).cast::<u64>().write_unaligned(used | 1 << component.bit);
    }
    true
}

/// Returns the offset of a component of at least `length` bytes, and the bits of the components that are not in their initial state;
/// `None` if the component is not in the area.
///
/// # Safety
/// The area is the kernel's, or null.
unsafe fn find(area: *const u8, component: &Component, length: usize) -> Option<(usize, u64)> {
    let at = component.at.load(Relaxed);
    let (mut magic, mut size, mut used) = ([0; 4], [0; 4], [0; 8]);
    // SAFETY: the legacy part is always there. The header is there if the area is extended, and the component if it
    // ends inside the size that the kernel states.
    unsafe {
        copy(area, SOFTWARE_AT, &mut magic);
        // `xstate_size`: after `magic1`, `extended_size` and `xfeatures`.
        copy(area, SOFTWARE_AT + 16, &mut size);
        if u32::from_le_bytes(magic) != EXTENDED || at == 0 {
            return None;
        }
        copy(area, HEADER_AT, &mut used);
    }
    (at + length <= u32::from_le_bytes(size) as usize).then(|| (at, u64::from_le_bytes(used)))
}

/// Copies from the area.
///
/// # Safety
/// The area is null, or has the bytes.
unsafe fn copy(area: *const u8, at: usize, bytes: &mut [u8]) {
    if !area.is_null() {
        // SAFETY: the caller's obligation.
        unsafe { area.add(at).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
    }
}
