//! Batches that never end, and commands that an engine does not have: the kernel's reaction, and the same reaction of
//! the software i915.
//!
//! The tests first shorten the kernel's timeouts: the engines' heartbeats, which detect hangs, and the time
//! limit of a batch.

use std::fs;
use std::path::{Path, PathBuf};

use gem_coherency::Errno;
use gem_coherency::backend::{Addresses, Drm, ExecObject, Mapping, Run};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::platform::{EngineClass, GraphicsVersion, by_id};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, Handle, MmapMode};
use gem_coherency_sim::SimDevice;

use crate::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    test!(a_loop_hangs_or_is_cancelled_as_in_the_software_i915, harms),
    test!(a_blit_is_done_or_hangs_as_in_the_software_i915, harms),
];

/// The heartbeat interval, and the timeout for preempting a batch for a heartbeat, in milliseconds.
const BEAT: &str = "200";
/// The time limit of a batch in milliseconds: longer than the heartbeats need to detect that an engine hangs.
const TIMEOUT: &str = "1500";
/// The batch's address.
const PLACE: u64 = 0x20_0000;
/// The addresses of what a blit writes and reads.
const TARGET: u64 = 0x40_0000;
const SOURCE: u64 = 0x60_0000;
/// MI_BATCH_BUFFER_END, and MI_NOOP.
const END: [u32; 2] = [0x0500_0000, 0];
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
    if drm.extras().unwrap().pwrite(page.handle, 0, &bytes).is_err() {
        let map = map(drm, page.handle);
        map.copy_in(0, &bytes).unwrap();
        map.perform(LineOp::Flush, LineRange::new(0, 64)).unwrap();
    }
    page.handle
}

/// Maps the page of an object.
fn map(drm: &dyn Drm, page: Handle) -> Mapping {
    [MmapMode::Wb, MmapMode::Fixed].iter().find_map(|&mode| drm.map(page, mode, 4096).ok()).unwrap()
}

/// Returns the first dwords of an object of a page.
fn dwords<const COUNT: usize>(drm: &dyn Drm, page: Handle) -> [u32; COUNT] {
    let mut bytes = vec![0; 4 * COUNT];
    if drm.extras().unwrap().pread(page, 0, &mut bytes).is_err() {
        let map = map(drm, page);
        map.perform(LineOp::Flush, LineRange::new(0, 64)).unwrap();
        map.copy_out(0, &mut bytes).unwrap();
    }
    std::array::from_fn(|index| {
        let word = &bytes[4 * index..];
        u32::from_le_bytes([word[0], word[1], word[2], word[3]])
    })
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
    let submitted = drm.extras().unwrap().run(&run).err().map(|error| error.errno());
    let waited = drm.wait(batch, LONG).err().map(|error| error.errno());
    drm.close(batch).unwrap();
    Outcome { submitted, waited, hangs: drm.extras().unwrap().hangs().unwrap() }
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
    let id = node.param(gem_coherency::backend::Param::ChipsetId).unwrap();
    let platform = by_id(u16::try_from(id).unwrap()).unwrap();
    if platform.graphics.major < 6 {
        return Some("there is no copy engine before Sandy Bridge".to_owned());
    }
    if platform.graphics.major == 8 {
        // The kernel disables preemption there before each batch (gen8_emit_bb_start_noarb).
        return Some("the emulated GPU turns away from batches all the same".to_owned());
    }
    let is_wide = platform.graphics.major >= 8;
    let soft = SimDevice::open(&format!("sim:{},kernel={}", platform.name, node.kernel())).unwrap();
    let (real, expected) = (outcomes(&node, is_wide), outcomes(&soft, is_wide));
    assert_eq!(real, expected);
    assert!(real.iter().all(|outcome| outcome.waited.is_none()));
    let banned = real.iter().any(|outcome| outcome.submitted == Some(Errno::EIO));
    assert_eq!(banned, !is_wide, "{real:?}");
    None
}

/// A command of the blitter that copies or fills two pixels of 32 bits, in the form of a platform.
type Blit = (&'static str, Vec<u32>);

/// Returns the commands of the blitter; those that a platform lacks in the form of the platforms that have them.
fn blits(graphics: GraphicsVersion) -> Vec<Blit> {
    let (to, from, corner) = (TARGET as u32, SOURCE as u32, 0x1_0002);
    let (colour, copy) = if graphics.major >= 8 {
        (
            vec![0x5430_0005, 0x03f0_0040, 0, corner, to, 0, 7],
            vec![0x54f0_0008, 0x03cc_0040, 0, corner, to, 0, 0, 0x40, from, 0],
        )
    } else {
        (
            vec![0x5430_0004, 0x03f0_0040, 0, corner, to, 7],
            vec![0x54f0_0006, 0x03cc_0040, 0, corner, to, 0, 0x40, from],
        )
    };
    let mut block = vec![0x5050_000a, 0x3f, 0, corner, to, 0, 0, 0, 0x3f, from, 0, 0];
    let mut fast_colour = vec![0x5110_0009, 0x3f, 0, corner, to, 0, 0, 7, 0, 0, 0];
    if graphics >= GraphicsVersion::new(12, 50) {
        block[0] = 0x5050_0014;
        block.resize(22, 0);
        fast_colour[0] = 0x5110_000e;
        fast_colour.resize(16, 0);
    }
    vec![
        ("XY_COLOR_BLT", colour),
        ("XY_SRC_COPY_BLT", copy),
        ("XY_FAST_COPY_BLT", vec![0x5080_0008, 0x0300_0040, 0, corner, to, 0, 0, 0x40, from, 0]),
        ("XY_BLOCK_COPY_BLT", block),
        ("XY_FAST_COLOR_BLT", fast_colour),
    ]
}

/// Runs a blit from an object that holds 7 and 7; returns what it wrote, and the number of hangs.
fn blit(drm: &dyn Drm, engine: EngineClass, words: &[u32]) -> ([u32; 3], u32) {
    let (target, source) = (batch(drm, &[0, 0]), batch(drm, &[7, 7]));
    let batch = batch(drm, &[words, &END].concat());
    let run = Run {
        objects: &[
            ExecObject { handle: target, access: Access::Write },
            ExecObject { handle: source, access: Access::Read },
        ],
        batch,
        len_bytes: 0,
        engine,
        addresses: Addresses::Pinned(&[TARGET, SOURCE, PLACE]),
    };
    drm.extras().unwrap().run(&run).unwrap();
    drm.wait(batch, LONG).unwrap();
    (dwords(drm, target), drm.extras().unwrap().hangs().unwrap())
}

fn a_blit_is_done_or_hangs_as_in_the_software_i915(bench: &Bench) -> Skip {
    let Some(_settings) = shorten_timeouts() else {
        return Some("debugfs does not have the kernel's parameters".to_owned());
    };
    let id = bench.open().param(gem_coherency::backend::Param::ChipsetId).unwrap();
    let platform = by_id(u16::try_from(id).unwrap()).unwrap();
    let graphics = platform.graphics;
    if graphics.major < 6 {
        return Some("the render engine executes blits before Sandy Bridge".to_owned());
    }
    let mut hanging = Vec::new();
    for (engine, on) in [(EngineClass::Copy, "copy"), (EngineClass::Render, "render")] {
        for (name, words) in blits(graphics) {
            // The hangs of a file and of a context add up.
            let node = bench.open();
            let soft = SimDevice::open(&format!("sim:{},kernel={}", platform.name, node.kernel())).unwrap();
            let real = blit(&node, engine, &words);
            assert_eq!(real, blit(&soft, engine, &words), "{name} on the {on} engine");
            match real {
                ([7, 7, 0], 0) => {}
                ([0, 0, 0], 1) if engine == EngineClass::Copy => hanging.push(name),
                ([0, 0, 0], 1) => {}
                _ => panic!("{name} on the {on} engine: {real:?}"),
            }
        }
    }
    // `intel_cmds_info.c` of IGT, and `emit_clear_main_copy` of xe_migrate.c for XY_FAST_COLOR_BLT.
    let expected: &[&str] = match (graphics.major, graphics.minor) {
        (6..=8, _) => &["XY_FAST_COPY_BLT", "XY_BLOCK_COPY_BLT", "XY_FAST_COLOR_BLT"],
        (9..=11, _) => &["XY_BLOCK_COPY_BLT", "XY_FAST_COLOR_BLT"],
        (12, ..70) => &[],
        _ => &["XY_COLOR_BLT", "XY_SRC_COPY_BLT"],
    };
    assert_eq!(hanging, expected);
    None
}
