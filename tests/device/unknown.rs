//! Devices that differ from the platform table, and devices that are not in the table.

use gem_coherency::Unknown;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use gem_coherency::access::Upload;
use gem_coherency::bo::Released;
use gem_coherency::device::{AllocRequest, Device, ReuseStats};
use gem_coherency::drm::display::Display;
use gem_coherency::drm::{
    Advice, Busy, Created, DriverVersion, Drm, ExecObject, Mapping, MemoryRegion, OpenCounts, Param,
    Placement, Retained, Run,
};
use gem_coherency::platform::Caps;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Domains, Handle, KernelVersion, MmapMode};
use gem_coherency::{Error, Result};
use gem_coherency_sim::Soft;

use super::{NEW, gpu, read, refused, write};

/// Opens a software device with one fact changed.
#[derive(Debug)]
struct Disguised {
    soft: Soft,
    param: Param,
    value: i32,
}

impl Drm for Disguised {
    fn param(&self, param: Param) -> Result<i32> {
        if param == self.param { Ok(self.value) } else { self.soft.param(param) }
    }
    fn name(&self) -> &str {
        self.soft.name()
    }
    fn kernel(&self) -> KernelVersion {
        self.soft.kernel()
    }
    fn version(&self) -> Result<DriverVersion> {
        self.soft.version()
    }
    fn memory_regions(&self) -> Result<Vec<MemoryRegion>> {
        self.soft.memory_regions()
    }
    fn create(&self, size_bytes: u64) -> Result<Created> {
        self.soft.create(size_bytes)
    }
    fn create_with_pat(&self, size_bytes: u64, pat_index: u32) -> Result<Created> {
        self.soft.create_with_pat(size_bytes, pat_index)
    }
    fn create_in(&self, size_bytes: u64, placements: &[Placement]) -> Result<Created> {
        self.soft.create_in(size_bytes, placements)
    }
    fn close(&self, handle: Handle) -> Result<()> {
        self.soft.close(handle)
    }
    fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()> {
        self.soft.set_caching(handle, mode)
    }
    fn caching(&self, handle: Handle) -> Result<CachingMode> {
        self.soft.caching(handle)
    }
    fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        self.soft.map(handle, mode, size_bytes)
    }
    fn map_legacy(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping> {
        self.soft.map_legacy(handle, mode, size_bytes)
    }
    fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()> {
        self.soft.set_domain(handle, read, write)
    }
    fn sw_finish(&self, handle: Handle) -> Result<()> {
        self.soft.sw_finish(handle)
    }
    fn pread(&self, handle: Handle, offset: u64, data: &mut [u8]) -> Result<()> {
        self.soft.pread(handle, offset, data)
    }
    fn pwrite(&self, handle: Handle, offset: u64, data: &[u8]) -> Result<()> {
        self.soft.pwrite(handle, offset, data)
    }
    fn busy(&self, handle: Handle) -> Result<Busy> {
        self.soft.busy(handle)
    }
    fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()> {
        self.soft.wait(handle, timeout_ns)
    }
    fn madvise(&self, handle: Handle, advice: Advice) -> Result<Retained> {
        self.soft.madvise(handle, advice)
    }
    fn export(&self, handle: Handle) -> Result<OwnedFd> {
        self.soft.export(handle)
    }
    fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created> {
        self.soft.import(dma_buf)
    }
    fn begin_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        self.soft.begin_dma_buf_access(dma_buf, access)
    }
    fn end_dma_buf_access(&self, dma_buf: BorrowedFd<'_>, access: Access) -> Result<()> {
        self.soft.end_dma_buf_access(dma_buf, access)
    }
    fn execute(&self, objects: &[ExecObject]) -> Result<()> {
        self.soft.execute(objects)
    }
    fn run(&self, run: &Run<'_>) -> Result<()> {
        self.soft.run(run)
    }

    fn hangs(&self) -> Result<u32> {
        self.soft.hangs()
    }

    fn display(&self) -> &dyn Display {
        self.soft.display()
    }

    fn open_counts(&self) -> OpenCounts {
        self.soft.open_counts()
    }
}

fn disguised(name: &str, param: Param, value: i32) -> Arc<dyn Drm> {
    Arc::new(Disguised { soft: Soft::open(name).unwrap(), param, value })
}

#[test]
fn a_devices_report_overrides_the_table_and_is_kept() {
    let device = Device::from_drm(disguised("sim:tgl", Param::HasLlc, 0)).unwrap();
    assert!(!device.machine().caps.contains(Caps::LLC));
    let found: Vec<_> = device.machine().disagreements().collect();
    let [disagreement] = &found[..] else { panic!("{found:?}") };
    assert!(disagreement.table && !disagreement.device);
    assert!(disagreement.to_string().contains("HAS_LLC"), "{disagreement}");
}

#[test]
fn an_unknown_id_is_refused_without_the_conservative_platform() {
    for id in [0x1234, 0, -1, 0x1_4e61] {
        let unknown = || disguised("sim:jsl", Param::ChipsetId, id);
        let error = refused(Device::from_drm(unknown()));
        assert!(matches!(error, Error::Unknown(Unknown::DeviceId { .. })), "{error:?}");
        let device = Device::with_conservative_platform(unknown()).unwrap();
        assert_eq!(device.machine().platform.name, "conservative");
    }
    let known: Arc<dyn Drm> = Arc::new(Soft::open("sim:tgl").unwrap());
    assert_eq!(Device::with_conservative_platform(known).unwrap().machine().platform.name, "tgl");
}

#[test]
fn on_an_unknown_device_everything_is_flushed_and_invalidated() {
    let device = Device::with_conservative_platform(disguised("sim:jsl", Param::ChipsetId, 0x1234)).unwrap();
    let bo = device.alloc(AllocRequest::new(4096)).unwrap();
    assert_eq!((bo.level(), bo.map_mode()), (CacheLevel::None, MmapMode::Wc));
    bo.map(MmapMode::Wb).unwrap();
    // It is unknown whether the kernel flushed the new pages' zeroes.
    assert_eq!(bo.dirty_lines(), 64);
    let reports = device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    assert_eq!((reports[0].decision.verdict, reports[0].lines), (Verdict::Flush, 64));
    assert_eq!(reports[0].decision.rule, Rule::NonCoherentWrite);
    write(&bo, 0, &NEW);
    assert_eq!(read(&bo, 0), NEW);
    let report = bo.read(64, 64).unwrap().finish();
    assert_eq!((report.decision.verdict, report.lines), (Verdict::Invalidate, 1));
    // The GPU's writes may be in a cache of an unknown device; the invalidate wrote its line back.
    let guard = bo.prepare_scanout().unwrap();
    assert_eq!((guard.report().decision.verdict, guard.report().lines), (Verdict::Flush, 63));
}

#[test]
fn on_an_unknown_device_an_upload_is_a_store_that_stays_marked() {
    let device = Device::with_conservative_platform(disguised("sim:jsl", Param::ChipsetId, 0x1234)).unwrap();
    for &hint in Upload::ALL {
        let bo = device.alloc(AllocRequest::new(4096)).unwrap();
        bo.map(MmapMode::Wb).unwrap();
        bo.flush().unwrap();
        bo.upload(0, &[1; 2048], hint).unwrap();
        assert_eq!(bo.dirty_lines(), 32, "{hint}");
        let reports = super::prepare(&device, &[gpu(&bo, Access::Read)]).unwrap();
        assert!(reports[0].decision.verdict == Verdict::Flush && reports[0].lines >= 32, "{reports:?}");
    }
}

#[test]
fn on_an_unknown_device_nothing_is_reused() {
    let device = Device::with_conservative_platform(disguised("sim:jsl", Param::ChipsetId, 0x1234)).unwrap();
    device.set_reuse_limit(1 << 20);
    let bo = device.alloc(AllocRequest::new(4096)).unwrap();
    write(&bo, 0, &NEW);
    assert_eq!(bo.release().unwrap(), Released::Closed);
    assert_eq!(device.reuse_stats(), ReuseStats::default());
}
