//! Devices, buffer objects and guards on the software i915: what the library's user sees.

mod alloc;
mod bad_input;
mod batch;
mod child;
mod forgotten_flush;
mod fork;
mod guards;
mod levels;
mod newest;
mod reuse;
mod reuse_lives;
mod scanout;
mod screen;
mod share;
mod stale_reads;
mod submit;
mod sweep;
mod threads;
mod trace;
mod unknown;
mod upload;

use std::sync::Arc;

use gem_coherency::Result;
use gem_coherency::access::FlushReport;
use gem_coherency::bo::Bo;
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::drm::mapping::Mapping;
use gem_coherency::drm::{Drm, OpenCounts};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency_sim::Soft;

/// What tests write over a BO's zeroes.
const NEW: [u8; 8] = *b"new data";

/// A software device, from both sides.
struct Rig {
    soft: Arc<Soft>,
    device: Device,
}

/// The software device of that name.
#[track_caller]
fn rig(name: &str) -> Rig {
    let soft = Arc::new(Soft::open(name).unwrap());
    let device = Device::from_drm(Arc::clone(&soft) as Arc<dyn Drm>).unwrap();
    Rig { soft, device }
}

impl Rig {
    /// A BO of two pages.
    #[track_caller]
    fn bo(&self, caching: CachingMode, map: MmapMode) -> Bo {
        let bo = self.device.alloc(AllocRequest::new(8192).caching(caching)).unwrap();
        bo.map(map).unwrap();
        bo
    }

    /// What the GPU sees at `offset`.
    fn gpu(&self, bo: &Bo, mocs: MocsClass, offset: u64) -> [u8; 8] {
        let mut seen = [0; 8];
        self.soft.gpu_read(bo.handle(), mocs, offset, &mut seen).unwrap();
        seen
    }

    /// What the display sees at `offset`.
    fn display(&self, bo: &Bo, offset: u64) -> [u8; 8] {
        let mut seen = [0; 8];
        self.soft.display_read(bo.handle(), offset, &mut seen).unwrap();
        seen
    }

    /// A mapping that nobody tracks.
    fn raw(&self, bo: &Bo, map: MmapMode) -> Mapping {
        self.soft.map(bo.handle(), map, bo.size()).unwrap()
    }

    /// Stores through a mapping that nobody tracks.
    fn raw_store(&self, bo: &Bo, map: MmapMode, offset: u64, data: &[u8]) {
        self.raw(bo, map).copy_in(offset, data).unwrap();
    }

    /// Loads through a mapping that nobody tracks.
    fn raw_load(&self, bo: &Bo, map: MmapMode, offset: u64) -> [u8; 8] {
        let mut seen = [0; 8];
        self.raw(bo, map).copy_out(offset, &mut seen).unwrap();
        seen
    }

    /// What a cache may do at any time: evict every line.
    fn evict(&self, bo: &Bo) {
        let mapping = self.raw(bo, MmapMode::Wb);
        mapping.lines(LineRange::new(0, bo.size() / 64), gem_coherency::cacheops::LineOp::Flush).unwrap();
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

/// A GPU access with the ordinary MOCS entry.
fn gpu(bo: &Bo, access: Access) -> Submission<'_> {
    Submission { bo, access, mocs: MocsClass::PageTable }
}

/// The flushes of a submission whose ioctl the test leaves out.
fn prepare(device: &Device, submissions: &[Submission<'_>]) -> Result<Vec<FlushReport>> {
    device.submit_with(submissions, |reports| Ok(reports.to_vec()))
}

/// What preparing one access came to: the verdict, the rule, and how many lines.
#[track_caller]
fn prepared(rig: &Rig, submission: Submission<'_>) -> (Verdict, Rule, u64) {
    let reports = prepare(&rig.device, &[submission]).unwrap();
    let [report] = reports[..] else { panic!("{reports:?}") };
    assert_eq!(report.bytes, report.lines * 64);
    (report.decision.verdict, report.decision.rule, report.lines)
}

/// Nothing is open.
#[track_caller]
fn nothing_left(rig: &Rig) {
    assert_eq!(rig.counts(), OpenCounts::default());
}

/// The error of a call that must fail.
#[track_caller]
fn refused<T: std::fmt::Debug, E: std::fmt::Debug>(result: Result<T, E>) -> E {
    result.unwrap_err()
}
