//! Emulated Intel GPUs for a stock QEMU, modelled as far as the real i915 kernel driver looks at
//! them: it probes, brings up its engines, and runs the requests of its users.
//!
//! The library is preloaded (`LD_PRELOAD`) into `qemu-system-x86_64` and registers one PCI device
//! type per entry of [`platforms::PLATFORMS`], named `i915-<platform>`.
//!
//! * [`device`], [`qemu`]: the device types, and the binding to QEMU, the only places with `unsafe` code;
//! * [`gpu`]: one device: register file, memory, engines, and who answers for a register;
//! * [`generations`]: what is particular to a generation: fuses, forcewake, resets, interrupts;
//! * [`display`]: off, or with pipes and ports;
//! * [`engines`], [`eu`]: submission and execution of batches, and the execution units;
//! * [`translation`]: where an address leads;
//! * [`snooping`]: which accesses look into the CPU's caches on the way;
//! * [`cache`]: the CPU's cache, if the machine is to have one.
//!
//! Set `I915_VM_TRACE` to a file name to have every register access and command written there.

#![deny(unsafe_code)]
// There is nothing public to link to.
#![allow(rustdoc::private_intra_doc_links)]

mod cache;
mod device;
mod display;
mod engines;
mod eu;
mod generations;
mod gpu;
mod mmio;
mod platforms;
mod qemu;
mod snooping;
mod translation;
