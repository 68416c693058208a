//! Cache coherency of GEM buffer objects on Intel GPUs.
//!
//! The CPU, the GPU and the display of an Intel SoC see memory through different caches. Between an access by one of them and the
//! next access by another, cache lines may have to be flushed or invalidated. For every buffer object (BO) this crate tracks which
//! lines are dirty or stale, decides by the rules of the platform what has to be done, and does it on device memory of i915 or, where
//! caching belongs to mappings, of xe ([`xe`], `docs/xe.md`). Each decision names the rule behind it.
//!
//! The crate does not render, schedule or lay out surfaces, and it does not manage a driver's GPU address space.
//!
//! # A first program
//!
//! A device is a path (`/dev/dri/renderD128`), or a software i915 of any platform (`sim:glk`), if the program links the crate
//! `gem-coherency-sim`: the same code runs on both.
//!
//! ```
//! use gem_coherency::{Access, AllocRequest, CachingMode, Device, MmapMode, MocsClass, Submission};
//!
//! gem_coherency_sim::link(); // `sim:` opens the software i915 from now on
//! let device = Device::open("sim:glk")?; // no LLC
//! let request = AllocRequest::new(64 << 10).caching(CachingMode::None).map(MmapMode::Wb);
//! let bo = device.alloc(request)?;
//! bo.write_bytes(4076, &[0xa5; 100])?;
//!
//! let mocs = MocsClass::PageTable;
//! let reports = device.submit(&[Submission { bo: &bo, access: Access::Write, mocs }])?;
//! assert_eq!(reports[0].lines, 3); // those that 100 bytes touch, of 1024
//!
//! let mut bytes = [0; 100];
//! let report = bo.read_bytes(4076, &mut bytes)?; // waits for the GPU
//! assert_eq!(report.decision.rule.name(), "stale-after-gpu-write");
//! assert_eq!(bytes, [0xa5; 100]); // the batch was empty
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! `examples/first.rs` is a program with a `main`, whose batch reads; `docs/driver-guide.md` takes a driver from its own flushes to this
//! crate, step by step.
//!
//! # Steps of a buffer
//!
//! | step | call | cache lines |
//! |---|---|---|
//! | allocate, import | [`Device::alloc`], [`Device::import`] | the caching mode decides the cache level, and the level the default map mode |
//! | write by the CPU | [`Bo::write`], [`Bo::write_bytes`], [`Bo::stream`], [`Bo::upload`] | stale lines that are overwritten in part are invalidated first; stored lines become dirty, through a WB mapping |
//! | hand to the GPU | [`Device::submit_with`], [`Device::submit`] | dirty lines that the GPU does not see are flushed, for all BOs between one pair of fences |
//! | read by the CPU | [`Bo::read`], [`Bo::read_bytes`] | waits for the GPU, then invalidates stale lines |
//! | show | [`Bo::prepare_scanout`] | all dirty lines are flushed; once the kernel shows the BO, its level is NONE or WT |
//! | share | [`Bo::export`] | all dirty lines are flushed |
//! | release | [`Bo::release`], drop | none; a BO that is kept for reuse keeps its marks |
//!
//! Each flush has a [`FlushReport`]: how many lines, and the [`Decision`] with its [`Rule`]. Doing nothing has a rule, too.
//!
//! # Show it
//!
//! ```
//! use gem_coherency::{AllocRequest, CacheLevel, CachingMode, Device};
//!
//! # gem_coherency_sim::link();
//! let device = Device::open("sim:tgl,display=on")?; // an LLC, which the display does not look up
//! let frame = device.alloc(AllocRequest::new(1 << 20).caching(CachingMode::Cached))?;
//! let mut write = frame.write(0, frame.size())?;
//! write.fill(&[0xff])?;
//! write.finish();
//!
//! let on_screen = frame.prepare_scanout()?; // before the driver's own mode set or flip
//! assert_eq!(on_screen.report().lines, frame.size() / 64);
//! frame.write_bytes(0, &[0; 4])?; // rendering into the front buffer
//! assert_eq!(on_screen.flush()?.lines, 1);
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! # Share it
//!
//! ```
//! use gem_coherency::{AllocRequest, Device};
//!
//! # gem_coherency_sim::link();
//! let device = Device::open("sim:jsl")?;
//! let bo = device.alloc(AllocRequest::new(4096))?;
//! bo.write_bytes(0, b"bytes")?;
//! let dma_buf = bo.export()?; // in memory, for any importer
//! assert_eq!(bo.dirty_lines(), 0);
//!
//! assert!(device.import(&dma_buf)?.is_same(&bo)); // this device knows it already
//! bo.mark_stale(0, 64)?; // the importer says that it wrote
//! # Ok::<(), gem_coherency::Error>(())
//! ```
//!
//! # Ask a rule, without a device
//!
//! A driver that keeps its own buffers takes [`platform`], [`policy`] and [`cacheops`] alone.
//!
//! ```
//! use gem_coherency::platform;
//! use gem_coherency::policy::driver::{Path, needs_flush, needs_invalidate};
//! use gem_coherency::vocabulary::KernelVersion;
//! use gem_coherency::{Access, CacheLevel, MmapMode, MocsClass, Verdict};
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
//! # See a missing flush
//!
//! On a software device a flush that is left out shows as old bytes:
//!
//! ```
//! use std::sync::Arc;
//! use gem_coherency::backend::Drm;
//! use gem_coherency::{Access, AllocRequest, Device, MocsClass, Submission};
//! use gem_coherency_sim::SimDevice;
//!
//! let soft = Arc::new(SimDevice::open("sim:jsl")?);
//! let device = Device::from_drm(Arc::clone(&soft) as Arc<dyn Drm>)?;
//! let bo = device.alloc(AllocRequest::new(4096))?;
//! bo.write_bytes(0, b"new!")?;
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
//! # Threads, processes, features
//!
//! [`Device`] and [`Bo`] are `Send` and `Sync`, and clones are cheap. Two threads may write disjoint bytes of one BO at once, each with its
//! own guard and through the same kind of mapping; no line that either wrote is lost, even if the bytes share a line. Overlapping writes
//! are no data race; each byte is then one of those stored. In a child of fork(2) every function that can fail returns
//! [`Error::OtherProcess`].
//!
//! The library emits events of the crate `tracing`, with the module as target (`gem_coherency::...`). Each decision is an event `decision`
//! at level `DEBUG`, with the fields `handle`, `step`, `verdict`, `rule`, `lines` and `bytes`. A subscriber with the filter
//! `gem_coherency=debug` shows them.
//!
//! Features: `serde` implements `serde::Serialize` for reports; a driver does not need it. The crate needs Rust 1.85, and compiles for
//! x86-64 and i686 Linux.
//!
//! # Modules
//!
//! A driver uses [`Device`], [`Bo`], their guards and reports. [`backend`], [`cacheops`], [`error`], [`fork`], [`sync`] and [`units`] are
//! public for what is built on the library: another device, the C interface, batches and screens. [`engine`] and [`tracking`] are public for those that
//! run the library's own steps on states of theirs: the explorer, the software device, the models of `loom-tests`. A version of the
//! library promises no stability of these two.
//!
//! # Layers
//!
//! Imports point down only, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L4  device
//! L3  object: buffer objects, their guards, and the state that clones share
//! L2  engine   backend: plan, perform, commit; a device's requests, and a real /dev/dri file
//! L1  tracking: the object word, the line maps, in-flight flushes, mappings; the registry, the reuse cache
//! L0  cacheops -> units -> error   fork -> error   sync
//! ```
//!
//! * `device`: a device as a driver holds it: opening, allocation, adoption, submission. Not its requests.
//! * `object`: a buffer object as a driver holds it, its guards, and what clones share. Not decisions.
//! * `engine`: what an access requires of pending work, in which order, and what is pending afterwards. Not ioctls.
//! * `backend`: the traits of a device, a real `/dev/dri` file, and mapped bytes. Not flushes.
//! * `tracking`: the object word, dirty and stale lines, flushes in flight, mappings, handles. Not how a line is flushed.
//! * `cacheops`: memory with cache lines, and the crate of that name. Not whether an operation is needed.
//! * `fork`: the process that opened a thing. Not devices.
//! * `units`: ranges of bytes, lines and pages, checked once. Not objects.
//! * `error`: errors with operands, errno, and what to do. Not results of the rules.
//! * `sync`: atomics, and mutexes without poison, or those of loom. Not data.
//!
//! Below them are the crates `gem-coherency-cacheops`, the cache instructions, `gem-coherency-uapi`, the kernel's structs, and
//! `gem-coherency-policy`: vocabulary, platforms, policy.

#![deny(unsafe_code)]

pub mod backend;
pub mod cacheops;
pub mod device;
pub mod engine;
pub mod error;
pub mod fork;
pub mod object;
pub mod sync;
pub mod tracking;
pub mod units;

pub use gem_coherency_policy::{platform, policy, vocabulary, xe};

#[doc(inline)]
pub use device::{AdoptRequest, AllocRequest, Device, ReuseStats, Submission};
#[doc(inline)]
pub use engine::FlushReport;
#[doc(inline)]
pub use error::{Error, OpenError, Result};
#[doc(inline)]
pub use gem_coherency_policy::{Errno, Unknown};
#[doc(inline)]
pub use object::{Bo, CpuAccess, Released, ScanoutGuard, Stream, Upload};
#[doc(inline)]
pub use policy::{Decision, Rule, Verdict};
#[doc(inline)]
pub use vocabulary::{Access, CacheLevel, CachingMode, Handle, MmapMode, MocsClass};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The driver guide's examples, likewise; those in C are `ci/capi`'s.
#[cfg(doctest)]
#[doc = include_str!("../docs/driver-guide.md")]
struct DriverGuide;
