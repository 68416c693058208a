//! Cache coherency of GEM buffer objects on Intel GPUs, known instead of hoped for.
//!
//! For every buffer object (BO) this crate knows which agent (CPU, GPU, display) may hold newer or
//! older data than memory; it decides *whether* a flush or an invalidate is needed, *why*, for
//! *which cache lines* and *when*, and carries it out on i915 device memory.
//!
//! It does not render, schedule or lay out surfaces, and it does not manage a driver's GPU address space.
//!
//! # A BO's life
//!
//! | step | call | what becomes of its cache lines |
//! |---|---|---|
//! | made | [`Device::alloc`], [`Device::import`] | its caching mode gives it a cache level, and that a map mode |
//! | written by the CPU | [`Bo::write`], [`Bo::upload`] | stale lines that are written in part are dropped first; what is stored is dirty |
//! | given to the GPU | [`Device::submit_with`], [`Device::submit`] | the dirty lines that the GPU would not see are flushed, those of all BOs between one pair of fences |
//! | read by the CPU | [`Bo::read`] | after the GPU is done, lines that it made stale are dropped |
//! | shown | [`Bo::prepare_scanout`] | all dirty lines are flushed; once the kernel has shown it, the level is NONE or WT |
//! | shared | [`Bo::export`] | all dirty lines are flushed |
//! | given up | [`Bo::release`], or dropped | nothing; a BO that is kept for reuse takes its marks along |
//!
//! Each step says what it did, and why, in a [`FlushReport`]; "nothing" has a reason, too.
//!
//! # Which module for what
//!
//! | for | modules |
//! |---|---|
//! | a driver that links the library | [`device`], [`bo`], [`access`]; from C the crate `gem-coherency-capi` |
//! | a driver that keeps its own buffers and takes the rules alone | [`platform`], [`policy`], [`cacheops`] |
//! | tests without hardware | the crate `gem-coherency-sim`: a software i915 |
//! | what the kernel does | [`policy::kernel`] |
//! | a change of a rule, checked before it is booted | [`policy`], the crate `gem-coherency-check`: the explorer |
//! | a change of what threads share | [`tracking`] |
//! | the kernel's interface | [`drm`], [`uapi`] |
//! | words, sizes, errors that all share | [`vocabulary`], [`units`], [`error`] |
//!
//! `docs/driver-guide.md` takes a driver there step by step.
//!
//! # Allocate, write, submit, read back
//!
//! A device is a path (`/dev/dri/renderD128`), or a software i915 of any platform (`sim:glk`): the same code runs on both.
//!
//! ```
//! use gem_coherency::device::{AllocRequest, Device, Submission};
//! use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
//!
//! gem_coherency_sim::link(); // `sim:` opens the software i915 from now on
//! let device = Device::open("sim:glk")?; // no LLC
//! let bo = device.alloc(AllocRequest::new(64 << 10).caching(CachingMode::None))?;
//! bo.map(MmapMode::Wb)?;
//!
//! let mut write = bo.write(4076, 100)?;
//! write.write_at(4076, &[0xa5; 100])?;
//! write.finish()?;
//!
//! let mocs = MocsClass::PageTable;
//! let reports = device.submit(&[Submission { bo: &bo, access: Access::Write, mocs }])?;
//! assert_eq!(reports[0].lines, 3); // those that 100 bytes touch, of 1024
//!
//! let mut bytes = [0; 100];
//! let read = bo.read(4076, 100)?; // waits for the GPU
//! read.read_at(4076, &mut bytes)?;
//! assert_eq!(read.finish()?.decision.rule.name(), "stale-after-gpu-write");
//! assert_eq!(bytes, [0xa5; 100]); // the batch was empty
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! # Show it
//!
//! ```
//! use gem_coherency::device::{AllocRequest, Device};
//! use gem_coherency_exercise::Screen;
//! use gem_coherency::vocabulary::{CacheLevel, CachingMode};
//!
//! # gem_coherency_sim::link();
//! let device = Device::open("sim:tgl,display=on")?; // an LLC, where the display does not look
//! let mut screen = Screen::open(&device)?;
//! let frame = device.alloc(AllocRequest::new(screen.picture_bytes()).caching(CachingMode::Cached))?;
//! let mut write = frame.write(0, frame.size())?;
//! write.fill(&[0xff])?;
//! write.finish()?;
//!
//! // A driver with its own mode set or flip calls `prepare_scanout` before it, and keeps what that returns.
//! assert_eq!(screen.show(&frame)?.lines, frame.size() / 64);
//! assert_eq!(frame.level(), CacheLevel::None); // forced by the display, and kept afterwards
//! frame.write(0, 4)?.write_at(0, &[0; 4])?;
//! assert_eq!(screen.dirty()?.lines, 1);
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! # Share it
//!
//! ```
//! use gem_coherency::device::{AllocRequest, Device};
//!
//! # gem_coherency_sim::link();
//! let device = Device::open("sim:jsl")?;
//! let bo = device.alloc(AllocRequest::new(4096))?;
//! bo.write(0, 5)?.write_at(0, b"bytes")?;
//! let dma_buf = bo.export()?; // in memory, for whoever imports it
//! assert_eq!(bo.dirty_lines(), 0);
//!
//! assert!(device.import(&dma_buf)?.is_same(&bo)); // here it is known already
//! bo.mark_stale(0, 64)?; // the other side says that it wrote
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! # Explain a decision, without a device
//!
//! ```
//! use gem_coherency::platform;
//! use gem_coherency::policy::Verdict;
//! use gem_coherency::policy::driver::{Path, needs_flush, needs_invalidate};
//! use gem_coherency::vocabulary::{Access, CacheLevel, KernelVersion, MmapMode, MocsClass};
//!
//! let caps = platform::by_name("jsl")?.machine(KernelVersion::new(6, 12), false).caps;
//! let (cpu, gpu) = (Path::Cpu(MmapMode::Wb), Path::Gpu(MocsClass::BypassLlc));
//!
//! let decision = needs_flush(caps, CacheLevel::Llc, cpu, gpu, Access::Read);
//! assert_eq!(decision.verdict, Verdict::Flush);
//! println!("{}: {} ({})", decision.rule, decision.rule.reason(), decision.rule.source());
//!
//! let back = needs_invalidate(caps, CacheLevel::Llc, gpu, cpu, Access::Read);
//! assert_eq!((back.verdict, back.rule.name()), (Verdict::NotNeeded, "llc-coherent"));
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! # See a bug
//!
//! On a software device a flush that is left out shows as old bytes:
//!
//! ```
//! use std::sync::Arc;
//! use gem_coherency::device::{AllocRequest, Device, Submission};
//! use gem_coherency::drm::Drm;
//! use gem_coherency::vocabulary::{Access, MocsClass};
//! use gem_coherency_sim::Soft;
//!
//! let soft = Arc::new(Soft::open("sim:jsl")?);
//! let device = Device::from_drm(Arc::clone(&soft) as Arc<dyn Drm>)?;
//! let bo = device.alloc(AllocRequest::new(4096))?;
//! bo.write(0, 4)?.write_at(0, b"new!")?;
//!
//! let mocs = MocsClass::BypassLlc;
//! let mut seen = [0; 4];
//! soft.gpu_read(bo.handle(), mocs, 0, &mut seen)?;
//! assert_eq!(seen, [0; 4]);
//!
//! let read = Submission { bo: &bo, access: Access::Read, mocs };
//! device.submit_with(&[read], |_| soft.gpu_read(bo.handle(), mocs, 0, &mut seen))?;
//! assert_eq!(seen, *b"new!");
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! [`Device::alloc`]: device::Device::alloc
//! [`Device::import`]: device::Device::import
//! [`Device::submit_with`]: device::Device::submit_with
//! [`Device::submit`]: device::Device::submit
//! [`Bo::write`]: bo::Bo::write
//! [`Bo::upload`]: bo::Bo::upload
//! [`Bo::read`]: bo::Bo::read
//! [`Bo::prepare_scanout`]: bo::Bo::prepare_scanout
//! [`Bo::export`]: bo::Bo::export
//! [`Bo::release`]: bo::Bo::release
//! [`FlushReport`]: access::FlushReport
//!
//! # Layers
//!
//! Imports point down only (`ci/layers` checks it):
//!
//! ```text
//! L5  device -> bo -> access
//! L4  engine   drm: plan, perform, commit; the uAPI boundary, and a real /dev/dri file
//! L3  tracking: the object word, the line maps, flights, mappings; the registry, the reuse cache
//! L2  policy: the rules
//! L1  platform   uapi   cacheops
//! L0  vocabulary   units   error   sync   fork
//! ```

#![deny(unsafe_code)]

pub mod access;
pub mod bo;
pub mod cacheops;
pub mod device;
pub mod drm;
pub mod engine;
pub mod error;
#[doc(hidden)]
pub mod fork;
pub mod platform;
pub mod policy;
mod sync;
pub mod tracking;
pub mod uapi;
pub mod units;
pub mod vocabulary;

pub use error::{Error, Result};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The driver guide's examples, likewise; those in C are `ci/capi`'s.
#[cfg(doctest)]
#[doc = include_str!("../docs/driver-guide.md")]
struct DriverGuide;
