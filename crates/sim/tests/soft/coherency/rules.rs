//! Every decision of the driver's rules, on real bytes: followed, nothing is stale or lost; each
//! demand left out in turn, something is.

use gem_coherency::backend::{Created, Drm, Mapping};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::policy::Verdict;
use gem_coherency::policy::driver::{Path, Row, table};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Handle, MmapMode};
use gem_coherency_sim::SimDevice;

use crate::errno;

const LINE: usize = 64;
const OLD: [u8; LINE] = [b'o'; LINE];
const WRITTEN: [u8; LINE] = [b'w'; LINE];
const PART: [u8; 4] = [b'p'; 4];

/// The parts of a row's requirements that are met.
#[derive(Clone, Copy)]
struct Obey {
    flush: bool,
    invalidate: bool,
}

/// One line of an object, with a mapping of every mode that the platform has.
struct Scene {
    device: SimDevice,
    handle: Handle,
    maps: Vec<Mapping>,
}

impl Scene {
    /// An object of this level, or `None` if no request makes one.
    fn new(name: &str, level: CacheLevel) -> Option<Self> {
        let device = crate::sim(name);
        let Created { handle, size_bytes } = object(&device, level)?;
        let maps =
            MmapMode::ALL.iter().filter_map(|&mode| device.map(handle, mode, size_bytes).ok()).collect();
        Some(Self { device, handle, maps })
    }

    fn map(&self, mode: MmapMode) -> &Mapping {
        self.maps.iter().find(|map| map.mode() == mode).unwrap()
    }

    fn write(&self, path: Path, data: &[u8]) {
        match path {
            Path::Cpu(mode) => self.map(mode).copy_in(0, data).unwrap(),
            Path::Gpu(mocs) => self.device.gpu_write(self.handle, mocs, 0, data).unwrap(),
            Path::Display => panic!("the display never writes"),
        }
    }

    fn read(&self, path: Path) -> [u8; LINE] {
        let mut data = [0; LINE];
        match path {
            Path::Cpu(mode) => self.map(mode).copy_out(0, &mut data).unwrap(),
            Path::Gpu(mocs) => self.device.gpu_read(self.handle, mocs, 0, &mut data).unwrap(),
            Path::Display => self.device.display_read(self.handle, 0, &mut data).unwrap(),
        }
        data
    }

    /// Does what a verdict demands.
    fn obey(&self, verdict: Verdict, writer: Path) {
        let line = LineRange::new(0, 1);
        match (verdict, writer) {
            (Verdict::NotNeeded, _) => {}
            (Verdict::Flush, _) => self.maps[0].perform(LineOp::Flush, line).unwrap(),
            (Verdict::Invalidate, _) => self.maps[0].perform(LineOp::Invalidate, line).unwrap(),
            (Verdict::Drain, Path::Cpu(mode)) => self.map(mode).drain().unwrap(),
            (Verdict::Drain, Path::Gpu(_) | Path::Display) | (Verdict::Refused, _) => {
                panic!("{verdict} after {writer:?}")
            }
        }
    }

    /// Everything that is under way reaches memory, and memory is read.
    fn in_the_end(&self) -> [u8; LINE] {
        self.maps[0].drain().unwrap();
        self.maps[0].perform(LineOp::Flush, LineRange::new(0, 1)).unwrap();
        self.read(Path::Display)
    }

    /// Returns whether the row's next access sees, or keeps, the bytes that the writer wrote.
    fn holds(&self, row: Row, obey: Obey) -> bool {
        let wb = self.maps[0].mode();
        self.write(Path::Cpu(wb), &OLD);
        self.in_the_end();
        // Whatever can be cached is, with the old bytes.
        self.read(Path::Cpu(wb));
        self.write(row.writer, &WRITTEN);
        if obey.flush {
            self.obey(row.flush.verdict, row.writer);
        }
        if obey.invalidate {
            self.obey(row.invalidate.verdict, row.writer);
        }
        match row.access {
            Access::Read => self.read(row.next) == WRITTEN,
            Access::Write => {
                self.write(row.next, &PART);
                let mut expected = WRITTEN;
                expected[..PART.len()].copy_from_slice(&PART);
                self.in_the_end() == expected
            }
        }
    }
}

/// An object of this level, if a request makes one.
fn object(device: &SimDevice, level: CacheLevel) -> Option<Created> {
    let has_level = |handle| device.snapshot(handle).unwrap().level == level;
    for index in 0..5 {
        if let Ok(bo) = device.create_with_pat(4096, index)
            && has_level(bo.handle)
        {
            return Some(bo);
        }
    }
    let created = device.create(4096).unwrap();
    let local = device.create_local(4096);
    if let Some(found) = [Ok(created), local].into_iter().flatten().find(|bo| has_level(bo.handle)) {
        return Some(found);
    }
    let handle = created.handle;
    let sets = |&mode: &CachingMode| device.set_caching(handle, mode).is_ok() && has_level(handle);
    CachingMode::ALL.iter().any(sets).then_some(created)
}

/// Returns whether the row requires more than the hardware needs. An uncached access empties the
/// write-combining buffers (Intel SDM volume 3, 12.3.1), but a driver that drains has one rule for all
/// ways out of a WC mapping.
fn is_conservative(row: &Row) -> bool {
    (row.writer, row.next) == (Path::Cpu(MmapMode::Wc), Path::Cpu(MmapMode::Uc))
}

/// Checks every row of one device; returns how many, and how many demands were left out.
fn check(name: &str) -> (u32, u32) {
    let caps = crate::sim(name).machine().caps;
    let (mut rows, mut demands) = (0, 0);
    for &level in CacheLevel::ALL {
        let Some(scene) = Scene::new(name, level) else { continue };
        let possible = |row: &Row| row.level == level && row.flush.verdict != Verdict::Refused;
        for row in table(caps).filter(possible) {
            let obeyed = Obey { flush: true, invalidate: true };
            assert!(scene.holds(row, obeyed), "{name}: followed, and stale: {row:?}");
            rows += 1;
            if row.flush.is_needed() {
                let forgot = Obey { flush: false, ..obeyed };
                assert_eq!(
                    scene.holds(row, forgot),
                    is_conservative(&row),
                    "{name}: flush forgotten: {row:?}"
                );
                demands += 1;
            }
            if row.invalidate.is_needed() {
                let forgot = Obey { invalidate: false, ..obeyed };
                assert!(!scene.holds(row, forgot), "{name}: invalidate forgotten: {row:?}");
                demands += 1;
            }
        }
        assert_eq!(scene.device.bus_errors(), 0, "{name} {level}");
    }
    (rows, demands)
}

#[test]
fn a_rule_that_is_followed_suffices_and_one_that_is_not_shows() {
    for platform in gem_coherency::platform::all() {
        for kernel in ["6.1", "6.12"] {
            let (rows, demands) = check(&format!("{platform},kernel={kernel}"));
            assert!(rows > demands && demands > 0, "{platform}: {demands} of {rows}");
        }
        if platform.edram_probed {
            check(&format!("{platform},edram=1"));
        }
    }
}

#[test]
fn every_platform_opens_and_makes_objects() {
    for platform in gem_coherency::platform::all() {
        let device = crate::sim(platform.name);
        assert_eq!(errno(device.create(1)), None, "{platform}");
    }
}
