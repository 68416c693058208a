//! Devices, buffer objects and guards, as the library's user sees them.

mod accesses;
mod child;
mod display;
mod failures;
mod objects;
mod submissions;
mod trace;

use std::sync::Arc;

use gem_coherency::Result;
use gem_coherency::backend::mapping::Mapping;
use gem_coherency::backend::{Drm, OpenCounts};
use gem_coherency::cacheops::CacheLines as _;
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::object::FlushReport;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency_sim::SimDevice;

/// The data that tests write over a BO's zeroes.
const NEW: [u8; 8] = *b"new data";

/// A software device, and the library's device on it.
struct Rig {
    soft: Arc<SimDevice>,
    device: Device,
}

/// Opens the software device `name`.
#[track_caller]
fn rig(name: &str) -> Rig {
    let soft = Arc::new(SimDevice::open(name).unwrap());
    let device = Device::from_drm(Arc::clone(&soft) as Arc<dyn Drm>).unwrap();
    Rig { soft, device }
}

impl Rig {
    /// Allocates a BO of two pages.
    #[track_caller]
    fn bo(&self, caching: CachingMode, map: MmapMode) -> Bo {
        let bo = self.device.alloc(AllocRequest::new(8192).caching(caching)).unwrap();
        bo.map(map).unwrap();
        bo
    }

    /// Returns the bytes that the GPU sees at `offset`.
    fn gpu(&self, bo: &Bo, mocs: MocsClass, offset: u64) -> [u8; 8] {
        let mut seen = [0; 8];
        self.soft.gpu_read(bo.handle(), mocs, offset, &mut seen).unwrap();
        seen
    }

    /// Returns the bytes that the display sees at `offset`.
    fn display(&self, bo: &Bo, offset: u64) -> [u8; 8] {
        let mut seen = [0; 8];
        self.soft.display_read(bo.handle(), offset, &mut seen).unwrap();
        seen
    }

    /// Creates an untracked mapping.
    fn raw(&self, bo: &Bo, map: MmapMode) -> Mapping {
        self.soft.map(bo.handle(), map, bo.size()).unwrap()
    }

    /// Stores through an untracked mapping.
    fn raw_store(&self, bo: &Bo, map: MmapMode, offset: u64, data: &[u8]) {
        self.raw(bo, map).copy_in(offset, data).unwrap();
    }

    /// Loads through an untracked mapping.
    fn raw_load(&self, bo: &Bo, map: MmapMode, offset: u64) -> [u8; 8] {
        let mut seen = [0; 8];
        self.raw(bo, map).copy_out(offset, &mut seen).unwrap();
        seen
    }

    /// Evicts every line, as a cache may do at any time.
    fn evict(&self, bo: &Bo) {
        let mapping = self.raw(bo, MmapMode::Wb);
        mapping.perform(gem_coherency::cacheops::LineOp::Flush, LineRange::new(0, bo.size() / 64)).unwrap();
    }

    fn counts(&self) -> OpenCounts {
        self.device.open_counts()
    }
}

/// Writes through a guard.
#[track_caller]
fn write(bo: &Bo, offset: u64, data: &[u8]) {
    let mut guard = bo.write(offset, data.len() as u64).unwrap();
    guard.write_at(offset, data).unwrap();
    guard.finish();
}

/// Reads through a guard.
#[track_caller]
fn read(bo: &Bo, offset: u64) -> [u8; 8] {
    let mut seen = [0; 8];
    bo.read(offset, 8).unwrap().read_at(offset, &mut seen).unwrap();
    seen
}

/// Returns a GPU access with the ordinary MOCS entry.
fn gpu(bo: &Bo, access: Access) -> Submission<'_> {
    Submission { bo, access, mocs: MocsClass::PageTable }
}

/// Performs the flushes of a submission without its ioctl.
fn prepare(device: &Device, submissions: &[Submission<'_>]) -> Result<Vec<FlushReport>> {
    device.submit_with(submissions, |reports| Ok(reports.to_vec()))
}

/// Prepares one access; returns the verdict, the rule, and the number of lines.
#[track_caller]
fn prepared(rig: &Rig, submission: Submission<'_>) -> (Verdict, Rule, u64) {
    let reports = prepare(&rig.device, &[submission]).unwrap();
    let [report] = reports[..] else { panic!("{reports:?}") };
    assert_eq!(report.bytes, report.lines * 64);
    (report.decision.verdict, report.decision.rule, report.lines)
}

/// Checks that no handle and no mapping is open.
#[track_caller]
fn nothing_left(rig: &Rig) {
    assert_eq!(rig.counts(), OpenCounts::default());
}

/// Returns the error of a call that must fail.
#[track_caller]
fn refused<T: std::fmt::Debug, E: std::fmt::Debug>(result: Result<T, E>) -> E {
    result.unwrap_err()
}
