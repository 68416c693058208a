//! The binding to QEMU: its services as safe functions and types. All of them are called with
//! QEMU's global lock held, as QEMU calls its devices.
//!
//! # Safety
//!
//! The functions that are called are QEMU's own, with the types of its headers. What QEMU keeps a pointer to is static or leaked: types,
//! operations, regions, the device. QEMU's global lock makes its callbacks take turns. The guest's memory is never unmapped; the CPU
//! may store to it at any time, so it is accessed by volatile or atomic accesses, or by QEMU.

#![allow(unsafe_code)]

pub mod cache;
mod cpu;
pub mod ffi;
mod guest_ram;
mod plugin;
mod symbols;
pub mod tlb;

use ffi::Object;
use std::ptr::null_mut;

/// The guest's clock, in nanoseconds.
pub fn clock() -> u64 {
    // SAFETY: takes no pointer.
    unsafe { ffi::qemu_clock_get_ns(ffi::CLOCK_VIRTUAL) }.unsigned_abs()
}

/// Reads the guest's physical memory, as a device does.
pub fn read_physical(address: u64, buffer: &mut [u8]) {
    // SAFETY: QEMU writes `len` bytes at the buffer.
    unsafe { ffi::cpu_physical_memory_rw(address, buffer.as_mut_ptr(), buffer.len() as u64, false) }
}

/// Writes the guest's physical memory, as a device does.
pub fn write_physical(address: u64, data: &[u8]) {
    // SAFETY: for a write QEMU only reads from the buffer; its one prototype serves both ways.
    unsafe { ffi::cpu_physical_memory_rw(address, data.as_ptr().cast_mut(), data.len() as u64, true) }
}

/// Memory of the device itself that the guest sees in a BAR and accesses without the model.
pub struct Ram {
    base: *mut u8,
    size: u64,
}

impl Ram {
    /// Memory of `size` bytes.
    ///
    /// # Safety
    /// `base` are so many bytes, which are never freed.
    pub unsafe fn new(base: *mut u8, size: u64) -> Self {
        Self { base, size }
    }

    fn holds(&self, offset: u64, length: usize) -> bool {
        offset.checked_add(length as u64).is_some_and(|end| end <= self.size)
    }

    /// Reads at `offset`; what lies outside of the memory reads as it was in the buffer.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) {
        if self.holds(offset, buffer.len()) {
            // SAFETY: in bounds, and QEMU never frees a RAM block of a device that stays plugged.
            // The guest may write at the same time: any mixture of bytes is a valid result.
            unsafe {
                self.base.add(offset as usize).copy_to_nonoverlapping(buffer.as_mut_ptr(), buffer.len());
            }
        }
    }

    /// Writes at `offset`; what lies outside of the memory is dropped.
    pub fn write(&self, offset: u64, data: &[u8]) {
        if self.holds(offset, data.len()) {
            // SAFETY: as for `read`.
            unsafe {
                self.base.add(offset as usize).copy_from_nonoverlapping(data.as_ptr(), data.len());
            }
        }
    }
}

/// The device's place on the PCI bus.
pub struct PciFunction(Object);

impl PciFunction {
    /// A device's place.
    ///
    /// # Safety
    /// The device is a PCI device, and lives as long as the process.
    pub unsafe fn new(device: Object) -> Self {
        Self(device)
    }

    /// Sends the message-signalled interrupt, if the driver enabled it.
    pub fn send_message(&self) {
        // SAFETY: the device lives as long as the process.
        unsafe {
            if ffi::msi_enabled(self.0) {
                ffi::msi_notify(self.0, 0);
            }
        }
    }

    /// Sets the level of the interrupt pin.
    pub fn set_pin(&self, asserted: bool) {
        // SAFETY: the device lives as long as the process.
        unsafe { ffi::pci_set_irq(self.0, asserted.into()) }
    }
}

/// A timer: what it does when it rings was said when it was made.
pub struct Timer(Object);

impl Timer {
    /// A timer that calls `rings`.
    pub fn new(rings: unsafe extern "C" fn(Object)) -> Self {
        let timer = allocate();
        // SAFETY: a timer structure fits into `allocate`'s memory; null is the main loop's group.
        unsafe {
            ffi::timer_init_full(timer, null_mut(), ffi::CLOCK_VIRTUAL, ffi::SCALE_NS, 0, rings, null_mut());
        }
        Self(timer)
    }

    /// Lets the timer ring once, in `delay` nanoseconds.
    pub fn arm(&self, delay: u64) {
        // SAFETY: the timer was initialised when it was made, and is never freed.
        unsafe { ffi::timer_mod(self.0, (clock() + delay).cast_signed()) }
    }
}

/// Zeroed memory for one of QEMU's structures. Their sizes are not known here, but well below this,
/// and none needs a larger alignment.
pub fn allocate() -> Object {
    Box::leak(Box::new([0_u128; 64])).as_mut_ptr().cast()
}

/// Ends the process: there is no device to go on with.
pub fn fatal(reason: &str) -> ! {
    eprintln!("i915-vm-device: {reason}");
    std::process::exit(1)
}
