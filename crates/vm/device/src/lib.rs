//! Emulated Intel GPUs for a stock QEMU, modelled as far as the real i915 kernel driver looks at
//! them: it probes, brings up its engines, and runs the requests of its users.
//!
//! The library is preloaded (`LD_PRELOAD`) into `qemu-system-x86_64` and registers one PCI device
//! type per entry of [`platforms::PLATFORMS`], named `i915-<platform>`.
//!
//! ```text
//! L6  device
//! L5  platforms
//! L4  mmio   generations
//! L3  engines   display
//! L2  translation
//! L1  gpu
//! L0  qemu -> cache   eu   snooping
//! ```
//!
//! * `device`: makes the device types in QEMU, with `unsafe` code. Not what the device does.
//! * `platforms`: the table of platforms, each on top of its generation. Not what a platform is.
//! * `mmio`: which part handles an access to registers or to PCI configuration space. Not what the access does.
//! * `generations`: fuses, forcewake, resets and interrupts of each generation. Not engines, not the display.
//! * `engines`: submission and execution of batches, up to the commands that start shaders. Not the execution units.
//! * `display`: pipes, planes and ports, or a display that is fused off. Not what is connected to a port.
//! * `translation`: page tables, and the aperture. Not the memory behind an address.
//! * `gpu`: one device: the state of its parts, and the types that describe a platform. Not what the parts do with the state.
//! * `qemu`: the binding to QEMU, the only other place with `unsafe` code. Not the GPU.
//! * `cache`: the CPU's cache, if the machine is to have one. Not its place in QEMU.
//! * `eu`: the execution units. Not the commands that start shaders.
//! * `snooping`: which accesses look into the CPU's caches. Not the caches.
//!
//! A part that is lower calls a higher one in one way: a command or an engine reaches its generation by the trait
//! `Generation` in the platform's entry.
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
