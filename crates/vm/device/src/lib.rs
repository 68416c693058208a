//! Emulated Intel GPUs for a stock QEMU, modelled as far as the real i915 kernel driver looks at
//! them: it probes, brings up its engines, and runs the requests of its users.
//!
//! The library is preloaded (`LD_PRELOAD`) into `qemu-system-x86_64` and registers one PCI device
//! type per entry of [`platforms::PLATFORMS`], named `i915-<platform>`.
//!
//! * [`device`], [`qemu`]: the device types, and the binding to QEMU, the only places with `unsafe` code;
//! * [`gpu`]: one device: register file, memory, engines, and who answers for a register;
//! * [`gen3_5`], [`gen6_7`], [`valleyview`], [`gen8_9`], [`gen11_12`], [`xehp`]: what is particular
//!   to a generation: fuses, forcewake, resets, interrupts;
//! * [`gt`], [`interrupts`]: what several generations share;
//! * [`display`]: off, or with pipes and ports;
//! * [`engine`], [`execlists`], [`commands`], [`blitter`]: submission and execution of batches;
//! * [`compute`], [`eu`]: kernels: the commands that start them, and the execution units;
//! * [`page_tables`], [`aperture`], [`memory`]: where an address of the GPU leads;
//! * [`snooping`]: which accesses look into the CPU's caches on the way;
//! * [`cache`]: the CPU's cache, if the machine is to have one.
//!
//! Set `I915_VM_TRACE` to a file name to have every register access and command written there.

#![deny(unsafe_code)]
// There is nothing public to link to.
#![allow(rustdoc::private_intra_doc_links)]

#[path = "translation/aperture.rs"]
mod aperture;
#[path = "engines/blitter.rs"]
mod blitter;
mod cache;
#[path = "engines/commands.rs"]
mod commands;
#[path = "engines/compute/mod.rs"]
mod compute;
mod device;
mod display;
#[path = "engines/registers.rs"]
mod engine;
mod eu;
#[path = "engines/execlists.rs"]
mod execlists;
#[path = "generations/gen11_12.rs"]
mod gen11_12;
#[path = "generations/gen3_5.rs"]
mod gen3_5;
#[path = "generations/gen6_7.rs"]
mod gen6_7;
#[path = "generations/gen8_9.rs"]
mod gen8_9;
mod gpu;
#[path = "generations/gt.rs"]
mod gt;
#[path = "gpu/interrupts.rs"]
mod interrupts;
#[path = "gpu/memory.rs"]
mod memory;
#[path = "engines/mi.rs"]
mod mi;
#[path = "translation/page_tables.rs"]
mod page_tables;
mod platforms;
mod qemu;
#[path = "gpu/registers.rs"]
mod registers;
mod snooping;
#[path = "generations/valleyview.rs"]
mod valleyview;
#[path = "generations/xehp.rs"]
mod xehp;
