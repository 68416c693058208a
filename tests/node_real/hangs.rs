//! Batches that never end: the kernel's reaction, and the same reaction of the software i915.
//!
//! The tests first shorten the kernel's timeouts: the engines' heartbeats, which detect hangs, and the time
//! limit of a batch.

use std::fs;
use std::path::{Path, PathBuf};

use gem_coherency::Errno;
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::drm::{Addresses, Drm, Run};
use gem_coherency::platform::{EngineClass, by_id};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Handle, MmapMode};
use gem_coherency_sim::Soft;

use super::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[test!(a_loop_hangs_or_is_cancelled_as_in_the_software_i915, harms)];

/// The heartbeat interval, and the timeout for preempting a batch for a heartbeat, in milliseconds.
const BEAT: &str = "200";
/// The time limit of a batch in milliseconds: longer than the heartbeats need to detect that an engine hangs.
const TIMEOUT: &str = "1500";
/// The batch's address.
const PLACE: u64 = 0x20_0000;
/// The longest wait, in nanoseconds.
const LONG: i64 = 10_000_000_000;

/// A setting in sysfs, and its previous value.
struct Setting {
    path: PathBuf,
    before: String,
}

impl Setting {
    fn new(path: PathBuf, value: &str) -> Option<Self> {
        let before = fs::read_to_string(&path).ok()?;
        fs::write(&path, value).ok()?;
        Some(Self { path, before })
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        // A setting that cannot be restored is no reason to fail.
        let _ = fs::write(&self.path, self.before.trim());
    }
}

/// Returns the paths in a directory of sysfs or debugfs; none if the directory is missing.
fn entries(path: impl AsRef<Path>) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Shortens the kernel's timeouts; `None` if that is impossible.
fn shorten_timeouts() -> Option<Vec<Setting>> {
    let mut settings = Vec::new();
    for card in entries("/sys/kernel/debug/dri") {
        let time = card.join("i915_params/request_timeout_ms");
        settings.extend(Setting::new(time, TIMEOUT));
    }
    if settings.is_empty() {
        return None;
    }
    for card in entries("/sys/class/drm") {
        for engine in entries(card.join("engine")) {
            settings.extend(Setting::new(engine.join("heartbeat_interval_ms"), BEAT));
            // The setting is missing without preemption.
            settings.extend(Setting::new(engine.join("preempt_timeout_ms"), BEAT));
        }
    }
    Some(settings)
}

/// Creates an object of a page that holds `words`.
fn batch(drm: &dyn Drm, words: &[u32]) -> Handle {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let page = drm.create(4096).unwrap();
    if drm.pwrite(page.handle, 0, &bytes).is_err() {
        let modes = [MmapMode::Wb, MmapMode::Fixed];
        let map = modes.iter().find_map(|&mode| drm.map(page.handle, mode, page.size_bytes).ok()).unwrap();
        map.copy_in(0, &bytes).unwrap();
        map.perform(LineOp::Flush, LineRange::new(0, 64)).unwrap();
    }
    page.handle
}

/// The result of a batch: of its submission and of the wait for it, and the number of hangs so far.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    submitted: Option<Errno>,
    waited: Option<Errno>,
    hangs: u32,
}

fn run(drm: &dyn Drm, engine: EngineClass, words: &[u32]) -> Outcome {
    let batch = batch(drm, words);
    let run = Run { objects: &[], batch, len_bytes: 0, engine, addresses: Addresses::Pinned(&[PLACE]) };
    let submitted = drm.run(&run).err().map(|error| error.errno());
    let waited = drm.wait(batch, LONG).err().map(|error| error.errno());
    drm.close(batch).unwrap();
    Outcome { submitted, waited, hangs: drm.hangs().unwrap() }
}

/// Runs loops until the context is banned on one engine, then on another, and batches that end on both.
fn outcomes(drm: &dyn Drm, is_wide: bool) -> Vec<Outcome> {
    use EngineClass::{Copy, Render};
    // MI_BATCH_BUFFER_START to itself.
    let place = PLACE as u32;
    let (jump, end) = (&[0x1880_0101, place, 0, 0][..], &[0x0500_0000, 0][..]);
    let jump = if is_wide { jump } else { &[0x1880_0100, place] };
    let steps = [
        (Copy, jump),
        (Copy, end),
        (Copy, jump),
        (Copy, jump),
        (Copy, end),
        (Render, end),
        (Render, jump),
        (Render, end),
    ];
    steps.into_iter().map(|(engine, words)| run(drm, engine, words)).collect()
}

fn a_loop_hangs_or_is_cancelled_as_in_the_software_i915(bench: &Bench) -> Skip {
    let Some(_settings) = shorten_timeouts() else {
        return Some("debugfs does not have the kernel's parameters".to_owned());
    };
    // The contexts of a file get their timeouts when it is opened.
    let node = bench.open();
    let id = node.param(gem_coherency::drm::Param::ChipsetId).unwrap();
    let platform = by_id(u16::try_from(id).unwrap()).unwrap();
    if platform.graphics.major < 6 {
        return Some("there is no copy engine before Sandy Bridge".to_owned());
    }
    if platform.graphics.major == 8 {
        // The kernel disables preemption there before each batch (gen8_emit_bb_start_noarb).
        return Some("the emulated GPU turns away from batches all the same".to_owned());
    }
    let is_wide = platform.graphics.major >= 8;
    let soft = Soft::open(&format!("sim:{},kernel={}", platform.name, node.kernel())).unwrap();
    let (real, expected) = (outcomes(&node, is_wide), outcomes(&soft, is_wide));
    assert_eq!(real, expected);
    assert!(real.iter().all(|outcome| outcome.waited.is_none()));
    let banned = real.iter().any(|outcome| outcome.submitted == Some(Errno::EIO));
    assert_eq!(banned, !is_wide, "{real:?}");
    None
}
