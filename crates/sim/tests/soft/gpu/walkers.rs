//! Shaders on the GPU: what they read is as stale as on the hardware, and so are their code, their state and their constants.
//!
//! The batches are those of `gem_coherency_exercise`, which shares no table with the device.

use gem_coherency::backend::Drm as _;
use gem_coherency::platform::EngineClass::Render;
use gem_coherency::platform::{Machine, by_name};
use gem_coherency::vocabulary::{KernelVersion, MocsClass};
use gem_coherency_exercise::commands::{Bytes, Walker, shaders, walker};
use gem_coherency_sim::Mistake::{self, DirtySurface, StaleRead};
use gem_coherency_sim::{HangCause, Route};
use intel_eu::{Platform, encode, text};

use crate::gpu::{BATCH, Gpu, SIZE, SOURCE, TARGET};

/// A platform of each encoding. (Haswell has no addresses of the caller's choice: tests/device runs its shaders.)
const PLATFORMS: [&str; 10] = ["bdw", "chv", "skl", "glk", "icl", "jsl", "tgl", "adlp", "dg2", "mtl"];

/// Places in the batch's buffer: the binding table, constants, and the state of the second of two surfaces.
const BINDING_TABLE: u64 = 512;
const CONSTANTS: u64 = 640;
const SECOND_SURFACE: u64 = 768;
const SHADER: u64 = 832;

/// Stores a thread's r1 in surface 1, 32 times its group's number after the beginning.
const STORE_CONSTANTS: &str = "
    mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud
    shl (1|M0) r2.2<1>:ud r0.1<0;1,0>:ud 0x1:ud
    mov (8|M0) r3.0<1>:ud r1.0<8;8,1>:ud
    send (16|M0) null:uw r2 0xA 0x40A0201
    mov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud
    send (16|M0) null:uw r112 0x27 0x2000010 {EOT}";

/// Stores a thread's r1 in surface 1, as two rows of 16 bytes from the fourth row on, 16 times its group's number after the row's beginning.
const STORE_BLOCK: &str = "
    shl (1|M0) r2.0<1>:ud r0.1<0;1,0>:ud 0x4:ud
    mov (1|M0) r2.1<1>:ud 0x3:ud
    mov (1|M0) r2.2<1>:ud 0x1000F:ud
    mov (8|M0) r3.0<1>:ud r1.0<8;8,1>:ud
    send (16|M0) null:uw r2 0xC 0x40A8001
    mov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud
    send (16|M0) null:uw r112 0x27 0x2000010 {EOT}";

fn assemble(platform: Platform, program: &str) -> Vec<u8> {
    let instructions = text::parse_program(platform, program).unwrap();
    instructions.iter().flat_map(|one| encode(platform, one).unwrap().to_le_bytes()).collect()
}

fn dwords(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|dword| u32::from_le_bytes(*dword)).collect()
}

fn machine(gpu: &Gpu) -> Machine {
    let name = gpu.device.name().trim_start_matches("sim:");
    by_name(name.split(',').next().unwrap()).unwrap().machine(KernelVersion::new(6, 12), false)
}

/// Returns the batch of a shader that reads the source by a MOCS entry and writes the target.
fn words(gpu: &Gpu, shader: &[u8], mocs: Option<u8>, constants: &[u32], groups: u32) -> Vec<u32> {
    let machine = machine(gpu);
    let surface = |buffer, mocs| Bytes { buffer, offset: 0, len: SIZE, mocs };
    let surfaces = [surface(1, mocs), surface(0, None)];
    let what = Walker { shader, surfaces: &surfaces, constants, groups };
    let batch = walker(&machine, &what, 2).unwrap();
    batch.at(&[TARGET.into(), SOURCE.into(), BATCH.into()]).words().to_vec()
}

fn copy(gpu: &Gpu, mocs: Option<u8>, groups: u32) -> Vec<u32> {
    words(gpu, &shaders::copy(&machine(gpu)).unwrap(), mocs, &[], groups)
}

#[track_caller]
fn run(gpu: &Gpu, words: &[u32]) {
    gpu.run_on(Render, words).unwrap();
    assert_eq!((gpu.device.take_gpu_hangs(), gpu.device.gpu_faults()), (vec![], vec![]));
}

#[test]
fn each_group_copies_its_bytes() {
    for name in PLATFORMS {
        let gpu = Gpu::new(name);
        gpu.source.put(0, &(1..=96).collect::<Vec<_>>());
        run(&gpu, &copy(&gpu, None, 2));
        let seen = [0, 31, 32, 63, 64].map(|dword| gpu.target.word(4 * dword));
        assert_eq!(seen, [1, 32, 33, 64, 0], "{name}");
    }
}

#[test]
fn dwords_are_stored_where_the_table_says() {
    for name in PLATFORMS {
        let gpu = Gpu::new(name);
        let mut table = [SIZE as u32; 32];
        (table[0], table[16], table[15], table[31]) = (0x40, 7, 0x84, 8);
        gpu.source.put(0, &table);
        run(&gpu, &words(&gpu, &shaders::scatter(&machine(&gpu)).unwrap(), None, &[], 1));
        let seen = [0, 0x3c, 0x40, 0x44, 0x84].map(|offset| gpu.target.word(offset));
        assert_eq!(seen, [0, 0, 7, 0, 8], "{name}");
    }
}

/// Returns what the target has after a copy of a source that is not flushed.
fn unflushed(name: &str, mocs: Option<u8>) -> (u32, Vec<(Mistake, Route)>) {
    let gpu = Gpu::new(name);
    gpu.source.put(0, &[1]);
    gpu.device.watch(true);
    let words = copy(&gpu, mocs, 1);
    gpu.source.store(0, &[2]);
    run(&gpu, &words);
    let found = gpu.device.incoherent().into_iter().map(|one| (one.kind, one.route)).collect();
    (gpu.target.word(0), found)
}

#[test]
fn a_surface_is_read_by_its_mocs_entry() {
    const BYPASS: Route = Route::Gpu(MocsClass::BypassLlc);
    const PAGE_TABLE: Route = Route::Gpu(MocsClass::PageTable);
    // The copy engine of Jasper Lake cannot go around the LLC.
    for name in ["jsl", "ehl"] {
        for entry in [16, 17] {
            assert_eq!(unflushed(name, Some(entry)), (1, vec![(StaleRead, BYPASS)]), "{name} {entry}");
        }
    }
    for (name, entry) in [("jsl", 2), ("icl", 16), ("skl", 2), ("tgl", 2)] {
        assert_eq!(unflushed(name, Some(entry)), (2, vec![]), "{name} {entry}");
        assert_eq!(unflushed(name, None), (2, vec![]), "{name}");
    }
    assert_eq!(unflushed("glk", None), (1, vec![(StaleRead, PAGE_TABLE)]));
}

#[test]
fn code_state_and_constants_that_are_not_flushed_are_the_old_ones() {
    let platform = Platform::Glk;
    let constants = assemble(platform, STORE_CONSTANTS);
    let other = assemble(platform, &STORE_CONSTANTS.replace("0x1:ud", "0x2:ud"));
    // What is written in the batch's buffer, and the dwords of the target at 0, 32 and 64, after a run of two groups.
    for (what, at, value, old, new) in [
        ("shader", SHADER, dwords(&other), [5, 5, 0], [5, 0, 5]),
        ("constants", CONSTANTS, vec![6], [5, 5, 0], [6, 6, 0]),
        ("binding table", BINDING_TABLE + 4, vec![704], [5, 5, 0], [0, 0, 0]),
        ("surface state", SECOND_SURFACE + 8 * 4, vec![TARGET + 32], [5, 5, 0], [0, 5, 5]),
    ] {
        let gpu = Gpu::new("glk");
        let words = words(&gpu, &constants, None, &[5], 2);
        gpu.batch.put(0, &words);
        gpu.batch.store(at, &value);
        let seen = || {
            gpu.target.put(0, &[0; 32]);
            gpu.submit(Render, words.len()).unwrap();
            assert_eq!(gpu.device.take_gpu_hangs(), [], "{what}");
            [0, 32, 64].map(|offset| gpu.target.word(offset))
        };
        assert_eq!(seen(), old, "{what} that is not flushed");
        gpu.batch.flush();
        assert_eq!(seen(), new, "{what}");
    }
}

#[test]
fn a_shader_that_breaks_a_rule_hangs_the_gpu() {
    let gpu = Gpu::new("skl");
    let valid = assemble(Platform::Skl, STORE_CONSTANTS);
    run(&gpu, &words(&gpu, &valid, None, &[5], 1));
    // A conversion to a narrower type packs its results.
    let invalid = STORE_CONSTANTS.replace("r3.0<1>:ud", "r3.0<1>:uw");
    gpu.run_on(Render, &words(&gpu, &assemble(Platform::Skl, &invalid), None, &[5], 1)).unwrap();
    let hangs = gpu.device.take_gpu_hangs();
    assert_eq!(hangs.len(), 1);
    assert_eq!((hangs[0].cause, hangs[0].rule), (HangCause::InvalidShader, Some("DestinationStride")));
    assert_eq!(hangs[0].command, 0x7105_000d);
}

/// A loop without an end, before a shader's instructions.
const ENDLESS: &str = "again: add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x1:ud\nwhile (16|M0) again";

#[test]
fn a_shader_runs_whatever_its_size() {
    let gpu = Gpu::new("skl");
    let shader = assemble(Platform::Skl, STORE_CONSTANTS);
    // More than 2^20 instructions; all groups but the first ones store after the surface.
    run(&gpu, &words(&gpu, &shader, None, &[5], 180_000));
    assert_eq!([0, 32, SIZE - 32].map(|offset| gpu.target.word(offset)), [5; 3]);
    let coverage = gpu.device.coverage();
    assert_eq!((coverage.dispatches.followed, coverage.dispatches.all_skipped()), (1, 0));
}

#[test]
fn a_thread_that_does_not_end_hangs_the_gpu() {
    let gpu = Gpu::new("skl,hang=20ms");
    let endless = assemble(Platform::Skl, &format!("{ENDLESS}{STORE_CONSTANTS}"));
    gpu.run_on(Render, &words(&gpu, &endless, None, &[5], 2)).unwrap();
    let hangs = gpu.device.take_gpu_hangs();
    assert_eq!((hangs.len(), hangs[0].cause, hangs[0].rule), (1, HangCause::Endless, None));
    assert_eq!(gpu.target.word(0), 0);
    // The next batch runs.
    let shader = assemble(Platform::Skl, STORE_CONSTANTS);
    run(&gpu, &words(&gpu, &shader, None, &[5], 2));
    assert_eq!(gpu.target.word(32), 5);
}

#[test]
fn a_walker_writes_after_its_last_thread_also_if_its_shader_is_skipped() {
    // The operation in COMPUTE_WALKER's POSTSYNC_DATA, and how many dwords at 64 are written.
    for name in ["dg2", "mtl"] {
        for (operation, written) in [(0, 0), (1, 2), (2, 0), (3, 4)] {
            for is_known in [true, false] {
                let gpu = Gpu::new(name);
                let mut words = copy(&gpu, None, 1);
                let walker = words.iter().position(|&word| word == 0x7208_0025).unwrap();
                words[walker + 26..][..5].copy_from_slice(&[operation, TARGET + 64, 0, 7, 8]);
                // Local numbers of channels are not known.
                words[walker + 4] |= u32::from(!is_known) << 26;
                gpu.source.put(0, &[5; 32]);
                gpu.target.put(64, &[9; 8]);
                run(&gpu, &words);
                let seen: Vec<_> = (0..8).map(|dword| gpu.target.word(64 + 4 * dword)).collect();
                let changed = seen.iter().filter(|word| **word != if is_known { 5 } else { 9 }).count();
                assert_eq!(changed, written, "{name}, operation {operation}, {is_known}: {seen:?}");
                if operation == 1 {
                    assert_eq!(seen[..2], [7, 8], "{name}");
                }
            }
        }
    }
}

#[test]
fn a_shader_ends_when_nobody_waits_for_it() {
    let gpu = Gpu::new("skl,hang=never");
    let endless = assemble(Platform::Skl, &format!("{ENDLESS}{STORE_CONSTANTS}"));
    let batch = words(&gpu, &endless, None, &[5], 1);
    gpu.device.stop_shaders();
    // Nothing hangs: the batch is cancelled.
    run(&gpu, &batch);
    let coverage = gpu.device.coverage();
    assert_eq!(
        coverage.dispatches.skipped.into_iter().collect::<Vec<_>>(),
        [("the program ended first".to_owned(), 1)]
    );
    assert_eq!(coverage.unfinished.into_iter().collect::<Vec<_>>(), [("they were cancelled".to_owned(), 1)]);
}

#[test]
fn a_shader_that_is_not_known_is_skipped_and_its_surfaces_are_judged() {
    let gpu = Gpu::new("glk");
    gpu.device.watch(true);
    let sampler = assemble(Platform::Glk, &STORE_CONSTANTS.replace("0xA 0x40A0201", "0x2 0x40A0201"));
    let mut words = words(&gpu, &sampler, None, &[5], 1);
    // The descriptor declares both entries, and one more, as Mesa does.
    words[576 / 4 + 4] |= 3;
    gpu.source.store(0, &[2]);
    run(&gpu, &words);
    let found: Vec<_> = gpu.device.incoherent().into_iter().map(|one| one.kind).collect();
    assert_eq!((found, gpu.target.word(0)), (vec![DirtySurface], 0));
}

#[test]
fn bytes_after_a_surface_are_zeroes_and_dropped() {
    let gpu = Gpu::new("jsl");
    gpu.source.put(0, &[7; 64]);
    gpu.target.put(0, &[9; 64]);
    let mut words = copy(&gpu, None, 2);
    // 0x8c bytes of the source, and 0xf0 of the target.
    (words[704 / 4 + 2], words[704 / 4 + 3]) = (1 << 16 | 0xb, 0);
    (words[768 / 4 + 2], words[768 / 4 + 3]) = (1 << 16 | 0x6f, 0);
    run(&gpu, &words);
    let seen = [0x88, 0x8c, 0xec, 0xf0].map(|offset| gpu.target.word(offset));
    assert_eq!(seen, [7, 0, 0, 9]);
}

#[test]
fn a_media_block_is_stored_by_rows() {
    // A two-dimensional surface of R8_UNORM, 16 wide and four rows high. Its width is a number of dwords to the message.
    const STATE: [u32; 4] = [0x2500_4000, 0, 3 << 16 | 15, 127];
    let changed = |at: usize, bits: u32| {
        let mut state = STATE;
        state[at] ^= bits;
        state
    };
    for name in ["bdw", "chv", "skl", "glk", "icl", "jsl"] {
        let stored = |state: [u32; 4]| {
            let gpu = Gpu::new(name);
            let shader = assemble(Platform::from_name(name).unwrap(), STORE_BLOCK);
            let mut words = words(&gpu, &shader, None, &[1, 2, 3, 4, 5, 6, 7, 8], 5);
            words[SECOND_SURFACE as usize / 4..][..4].copy_from_slice(&state);
            run(&gpu, &words);
            let all = (0..1024).step_by(4).map(|offset| (offset, gpu.target.word(offset)));
            all.filter(|(_, word)| *word != 0).collect::<Vec<_>>()
        };
        // The fifth group, and the second row of each, are outside.
        let row = |start: u64| (0..16).map(|at| (start + 4 * at, 1 + at as u32 % 4)).collect::<Vec<_>>();
        assert_eq!(stored(STATE), row(3 * 128), "{name}");
        assert_eq!(stored(changed(3, 127 ^ 63)), row(3 * 64), "{name}: another pitch");
        let narrow = row(3 * 128).into_iter().take(8).collect::<Vec<_>>();
        assert_eq!(stored(changed(2, 15 ^ 7)), narrow, "{name}: a width of 8");
        for (state, what) in [
            (changed(0, 2 << 12), "X-tiled"),
            (changed(0, 3 << 12), "Y-tiled"),
            (changed(0, 3 << 29), "of three dimensions"),
            (changed(3, 127 ^ 31), "of rows that are longer than the pitch"),
            (changed(3, 127 ^ 95), "of a pitch that is not a multiple of 64"),
            (changed(3, 1 << 21), "of two slices"),
        ] {
            assert_eq!(stored(state), [], "{name}: {what}");
        }
    }
}
