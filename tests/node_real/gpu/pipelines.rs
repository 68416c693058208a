//! Batches of the render engine: their commands are skipped, and their writes arrive, on the emulated GPU of
//! `crates/vm` as on the software i915, which measure commands independently of each other.

use gem_coherency::Errno;
use gem_coherency::backend::{Addresses, Drm, ExecObject, Mapping, Param, Run};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::platform::{EngineClass, Platform, by_id};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, Handle, MmapMode};
use gem_coherency_sim::SimDevice;

use crate::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    test!(a_frame_runs_and_its_writes_arrive_as_on_the_software_i915),
    test!(batches_are_refused_as_on_the_software_i915),
];

/// The addresses of the target and of the batch.
const TARGET: u32 = 0x20_0000;
const BATCH: u32 = 0x30_0000;
/// MI_BATCH_BUFFER_END; also every operand of a skipped command, so that a wrong length ends the batch.
const END: u32 = 0x0500_0000;

/// A batch of 3D state and a draw, of PIPE_CONTROLs that write an immediate to the first two dwords of the
/// target and the timestamp to the next two, and of a register's journey to the fifth.
fn frame(platform: &Platform) -> Vec<u32> {
    let is_wide = platform.graphics.major >= 8;
    let base = match platform.graphics.major {
        ..=7 => 10,
        8 => 16,
        9 => 19,
        _ => 22,
    };
    let mut words = vec![0x6904_0000, 0x680b_0001];
    // STATE_BASE_ADDRESS, 3DSTATE_VIEWPORT_STATE_POINTERS_CC, 3DSTATE_PS, 3DSTATE_VERTEX_BUFFERS, 3DPRIMITIVE.
    for (command, dwords) in [(0x6101, base), (0x7823, 2), (0x7820, 12), (0x7808, 0x81), (0x7b00, 7)] {
        words.push(command << 16 | (dwords - 2));
        words.resize(words.len() + dwords as usize - 1, END);
    }
    for (operation, offset) in [(1, 0), (3, 8)] {
        let (flags, address) = (1 << 20 | operation << 14, TARGET + offset);
        match is_wide {
            true => words.extend([0x7a00_0004, flags, address, 0, 7, 8]),
            false => words.extend([0x7a00_0003, flags, address, 7, 8]),
        }
    }
    if is_wide || platform.name == "hsw" {
        // MI_LOAD_REGISTER_IMM and MI_STORE_REGISTER_MEM of HSW_CS_GPR(1).
        words.extend([0x1100_0001, 0x2608, 9]);
        match is_wide {
            true => words.extend([0x1200_0002, 0x2608, TARGET + 16, 0]),
            false => words.extend([0x1200_0001, 0x2608, TARGET + 16]),
        }
    }
    if is_wide {
        // MI_SEMAPHORE_WAIT until the first dword is 7.
        words.extend([0x0e00_c002, 7, TARGET, 0]);
    }
    words.push(END);
    words.resize(words.len().next_multiple_of(2), 0);
    words
}

/// Bytes of an object.
const SIZE: u64 = 0x8000;

/// An object and a mapping of it.
struct Buffer {
    handle: Handle,
    map: Mapping,
}

impl Buffer {
    /// Creates an object that begins with `words`, in memory.
    fn new(drm: &dyn Drm, words: &[u32]) -> Self {
        let handle = drm.create(SIZE).unwrap().handle;
        let modes = [MmapMode::Wb, MmapMode::Fixed];
        let map = modes.iter().find_map(|&mode| drm.map(handle, mode, SIZE).ok()).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        map.copy_in(0, &bytes).unwrap();
        let buffer = Self { handle, map };
        buffer.flush();
        buffer
    }

    /// Writes all lines back, and drops them.
    fn flush(&self) {
        self.map.perform(LineOp::Flush, LineRange::new(0, SIZE / 64)).unwrap();
    }
}

/// Returns the dwords of the target after a batch.
fn run(drm: &dyn Drm, words: &[u32]) -> [u32; 6] {
    let (target, batch) = (Buffer::new(drm, &[]), Buffer::new(drm, words));
    drm.extras()
        .unwrap()
        .run(&Run {
            objects: &[ExecObject { handle: target.handle, access: Access::Write }],
            batch: batch.handle,
            len_bytes: 4 * words.len() as u32,
            engine: EngineClass::Render,
            addresses: Addresses::Pinned(&[TARGET.into(), BATCH.into()]),
        })
        .unwrap();
    drm.wait(batch.handle, -1).unwrap();
    target.flush();
    let mut bytes = [0; 24];
    target.map.copy_out(0, &mut bytes).unwrap();
    assert_eq!(drm.extras().unwrap().hangs().unwrap(), 0);
    std::array::from_fn(|index| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * index + byte])))
}

fn a_frame_runs_and_its_writes_arrive_as_on_the_software_i915(bench: &Bench) -> Skip {
    let node = bench.open();
    let platform = by_id(node.param(Param::ChipsetId).unwrap() as u16).unwrap();
    if platform.graphics.major < 6 {
        return Some("the addresses of objects are the kernel's choice".to_owned());
    }
    let soft = SimDevice::open(&format!("sim:{},kernel={}", platform.name, node.kernel())).unwrap();
    let words = frame(platform);
    let register = if platform.graphics.major >= 8 || platform.name == "hsw" { 9 } else { 0 };
    for drm in [&node as &dyn Drm, &soft] {
        let [first, second, time, _, loaded, after] = run(drm, &words);
        assert_eq!([first, second, loaded, after], [7, 8, register, 0]);
        assert_ne!(time, 0);
    }
    // With a length that is one less, the last operand is the next command, and ends the batch.
    let mut shorter = words.clone();
    let at = shorter.iter().position(|word| word >> 16 == 0x7820).unwrap();
    shorter[at] -= 1;
    if platform.graphics.major != 7 {
        for drm in [&node as &dyn Drm, &soft] {
            assert_eq!(run(drm, &shorter), [0; 6]);
        }
    }
    None
}

/// First dwords of commands with long length fields, and their lengths, on the render and the video engine.
const LONG: [(EngineClass, u32, usize); 11] = [
    (EngineClass::Render, 0x7917_0101, 0x103),
    (EngineClass::Render, 0x7917_0301, 0x103),
    (EngineClass::Render, 0x7820_0106, 8),
    (EngineClass::Render, 0x7843_0101, 0x103),
    (EngineClass::Render, 0x7839_0101, 0x103),
    (EngineClass::Render, 0x7100_0104, 0x106),
    (EngineClass::Render, 0x7105_0509, 11),
    (EngineClass::Render, 0x1380_0101, 0x103),
    (EngineClass::Video, 0x7702_033d, 0x33f),
    (EngineClass::Video, 0x7128_f004, 6),
    (EngineClass::Video, 0x7600_1001, 0x1003),
];

/// Submits batches with their lengths: generation 7's parser refuses what is not made of whole commands.
fn batches_are_refused_as_on_the_software_i915(bench: &Bench) -> Skip {
    let node = bench.open();
    let platform = by_id(node.param(Param::ChipsetId).unwrap() as u16).unwrap();
    if platform.graphics.major != 7 {
        return Some("the kernel parses only batches of graphics 7".to_owned());
    }
    let soft = SimDevice::open(&format!("sim:{},kernel={}", platform.name, node.kernel())).unwrap();
    let mut refused = 0;
    for (engine, first, dwords) in LONG {
        // A no-op for an even number of dwords; operands that are no commands, so that every dword counts.
        let mut words = vec![0; (dwords + 1) % 2];
        let at = words.len();
        words.push(first);
        words.resize(at + dwords, 0xffff_ffff);
        words.push(END);
        // A dword shorter and one longer, cut off, without an end, and of a client that does not exist.
        let (mut shorter, mut longer) = (words.clone(), words.clone());
        (shorter[at], longer[at]) = (first - 1, first + 1);
        let others = [vec![first, END], vec![0; 4], vec![0xffff_ffff, END], vec![0, END]];
        for words in [words, shorter, longer].into_iter().chain(others) {
            let [real, expected] = [&node as &dyn Drm, &soft].map(|drm| verdict(drm, engine, &words));
            assert_eq!(real, expected, "{engine:?} {first:x} {}", words.len());
            refused += usize::from(real.is_some());
        }
    }
    assert!(refused > LONG.len(), "{refused}");
    None
}

/// Returns the errno of a submission.
fn verdict(drm: &dyn Drm, engine: EngineClass, words: &[u32]) -> Option<Errno> {
    let batch = Buffer::new(drm, words).handle;
    let (len_bytes, addresses) = (4 * words.len() as u32, Addresses::Pinned(&[BATCH.into()]));
    let refused = drm.extras().unwrap().run(&Run { objects: &[], batch, len_bytes, engine, addresses }).err();
    drm.wait(batch, -1).unwrap();
    drm.close(batch).unwrap();
    refused.map(|error| error.errno())
}
