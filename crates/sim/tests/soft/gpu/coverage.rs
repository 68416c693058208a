//! What a device says about the work that it followed and skipped, and the objects that the skipped work may access.

use std::collections::BTreeMap;

use gem_coherency::backend::Drm as _;
use gem_coherency::backend::Extras;
use gem_coherency::platform::EngineClass::{self, Copy, Render, Video};
use gem_coherency::platform::by_name;
use gem_coherency::vocabulary::{Handle, KernelVersion};
use gem_coherency_exercise::commands::{Bytes, Walker, shaders, walker};
use gem_coherency_sim::{Coverage, CoveredWork, TraceEvent};

use crate::gpu::{BATCH, END, Gpu, SIZE, SOURCE, TARGET};

/// 3DSTATE_VERTEX_BUFFERS, 3DSTATE_VERTEX_ELEMENTS, 3DSTATE_VF_TOPOLOGY: three floats of each 64 bytes of the source.
const VERTICES: [u32; 10] = [
    0x7808_0003,
    1 << 14 | 2 << 17 | 64,
    SOURCE,
    0,
    SIZE as u32,
    0x7809_0001,
    1 << 25 | 0x40 << 16,
    0x1113_0000,
    0x784b_0000,
    4,
];
/// 3DPRIMITIVE of a triangle.
const DRAW: [u32; 7] = [0x7b00_0005, 0, 3, 0, 1, 0, 0];
/// The position of the shader's first dword in the batch of [`copy_shader`].
const SHADER: usize = 832 / 4;
/// MI_STORE_DATA_IMM.
const STORE: [u32; 4] = [0x1000_0002, TARGET, 0, 7];

fn watched(name: &str) -> Gpu {
    let gpu = Gpu::new(name);
    gpu.device.watch(true);
    gpu
}

/// Runs a batch of these parts, and returns the coverage since the device was created.
#[track_caller]
fn covered(gpu: &Gpu, engine: EngineClass, parts: &[&[u32]]) -> Coverage {
    gpu.run_on(engine, &[&parts.concat()[..], &[END]].concat()).unwrap();
    gpu.device.coverage()
}

fn skipped(why: &str, count: u64) -> CoveredWork {
    CoveredWork { followed: 0, skipped: BTreeMap::from([(why.to_owned(), count)]) }
}

/// Returns the batch of a shader that copies the first bytes of the source to the target.
fn copy_shader(name: &str) -> Vec<u32> {
    let machine = by_name(name).unwrap().machine(KernelVersion::new(6, 12), false);
    let surface = |buffer| Bytes { buffer, offset: 0, len: SIZE, mocs: None };
    let shader = shaders::copy(&machine).unwrap();
    let what = Walker { shader: &shader, surfaces: &[surface(1), surface(0)], constants: &[], groups: 1 };
    walker(&machine, &what, 2).unwrap().at(&[TARGET.into(), SOURCE.into(), BATCH.into()]).words().to_vec()
}

/// Returns the position of the walker's first dword.
fn walker_in(words: &[u32]) -> usize {
    words.iter().position(|&word| word >> 16 == 0x7105).unwrap()
}

#[test]
fn without_a_submission_there_is_nothing() {
    assert_eq!(watched("glk").device.coverage(), Coverage::default());
    assert!(!Coverage::default().is_judged());
}

#[test]
fn commands_fills_and_stores_are_counted() {
    let gpu = watched("tgl");
    let fill = [0x5430_0005, 0x03f0_0040, 0, 0x1_0001, TARGET, 0, 7];
    // MI_NOOP does not count.
    let seen = covered(&gpu, Copy, &[&STORE, &[0, 0], &fill]);
    let expected =
        Coverage { submissions: 1, followed_submissions: 1, commands: 3, copies: 1, ..Coverage::default() };
    assert_eq!(seen, expected);
}

#[test]
fn a_batch_without_an_access_is_no_followed_submission() {
    // MI_LOAD_REGISTER_IMM, as at a context's begin; the same beside a store.
    let state = [0x1100_0001, 0x2600, 7];
    let seen = covered(&watched("glk"), Render, &[&state]);
    assert_eq!((seen.submissions, seen.followed_submissions, seen.is_judged()), (1, 0, false));
    assert_eq!(covered(&watched("glk"), Render, &[&state, &STORE]).followed_submissions, 1);
}

#[test]
fn a_draw_is_judged_on_a_watched_device_alone() {
    let gpu = watched("glk");
    let seen = covered(&gpu, Render, &[&VERTICES, &DRAW, &DRAW]);
    assert_eq!(seen.draws, CoveredWork { followed: 2, ..CoveredWork::default() });
    assert_eq!((seen.submissions, seen.followed_submissions), (1, 1));
    let seen = covered(&Gpu::new("glk"), Render, &[&VERTICES, &DRAW]);
    assert_eq!(seen.draws, skipped("draws are not executed", 1));
    assert_eq!(seen.followed_submissions, 0);
}

#[test]
fn a_draw_is_skipped_for_a_reason() {
    let changed = |at: usize, bits: u32| {
        let mut draw = DRAW;
        draw[at] ^= bits;
        draw
    };
    // The number of 3DSTATE_PS's binding table entries, its pixels, and 3DSTATE_PS_EXTRA.
    let shader = [0x7820_000a, 0, 0, 1 << 18, 0, 0, 1, 0, 0, 0, 0, 0, 0x784f_0000, 1 << 31];
    let packed = [0x780c_0200, 0];
    let table = [&VERTICES[..], &shader].concat();
    let of_parts = [&VERTICES[..], &packed].concat();
    let cases: [(&str, &[u32], [u32; 7]); 7] = [
        ("it depends on a predicate", &VERTICES, changed(0, 1 << 8)),
        ("its parameters are in registers", &VERTICES, changed(0, 1 << 10)),
        ("its parameters are in registers", &VERTICES, changed(1, 1 << 9)),
        ("its index buffer is not known", &VERTICES, changed(1, 1 << 8)),
        ("the place of a binding table is not known", &table, DRAW),
        ("only some components of its vertices are fetched", &of_parts, DRAW),
        ("the command is not known", &VERTICES, changed(0, 1 << 16)),
    ];
    for (why, state, draw) in cases {
        let seen = covered(&watched("glk"), Render, &[state, &draw]);
        assert_eq!((seen.draws, seen.followed_submissions), (skipped(why, 1), 0), "{draw:x?}");
        assert_eq!(seen.unfinished, BTreeMap::new(), "{why}");
    }
    // No vertex, and no instance.
    for nothing in [changed(2, 3), changed(4, 1)] {
        let seen = covered(&watched("glk"), Render, &[&VERTICES, &nothing]);
        assert_eq!((seen.draws, seen.followed_submissions), (CoveredWork::default(), 0));
    }
    let seen = covered(&watched("ilk"), Render, &[&DRAW[..6], &[0]]);
    assert_eq!(seen.draws, skipped("this generation's pipelines are not simulated", 1));
}

#[test]
fn reads_beyond_the_limit_are_a_reason() {
    let gpu = watched("glk");
    let mut state = VERTICES;
    // Points with gaps between them.
    (state[1], state[9]) = (1 << 14 | 2 << 17 | 16, 1);
    let draws = [0x7b00_0005, 0, 4000, 0, 1, 0, 0].repeat(600);
    let seen = covered(&gpu, Render, &[&state, &draws]);
    assert_eq!(seen.draws.followed + seen.draws.all_skipped(), 600);
    assert_eq!(seen.draws.skipped.keys().collect::<Vec<_>>(), ["the batch has read too much"]);
    assert!(seen.draws.followed > 0 && seen.followed_submissions == 1);
}

#[test]
fn work_after_a_predicate_is_skipped() {
    let words = copy_shader("glk");
    // MI_SET_PREDICATE of the predicate's result.
    let seen = covered(&watched("glk"), Render, &[&[0x0080_0002], &STORE, &VERTICES, &DRAW]);
    assert_eq!(seen.draws, skipped("an earlier command depends on a predicate", 1));
    assert_eq!(seen.skipped_commands, BTreeMap::from([("MI_SET_PREDICATE".to_owned(), 1)]));
    assert_eq!((seen.submissions, seen.followed_submissions), (1, 0), "a store beside it is not enough");
    assert!(!seen.is_judged());
    // MI_BATCH_BUFFER_START that jumps if the predicate of MI_PREDICATE holds.
    let gpu = watched("glk");
    let words_at = walker_in(&words);
    let jump = [0x0600_0000, 0x1880_8101, BATCH + 16, 0];
    let seen = covered(&gpu, Render, &[&jump, &words[words_at..words_at + 15]]);
    assert_eq!(seen.dispatches, skipped("an earlier command depends on a predicate", 1));
    assert_eq!(seen.unfinished, BTreeMap::from([("they jump if a predicate holds".to_owned(), 1)]));
    assert_eq!(seen.followed_submissions, 0);
}

#[test]
fn a_dispatch_is_executed_or_skipped_for_a_reason() {
    let gpu = watched("glk");
    let words = copy_shader("glk");
    gpu.run_on(Render, &words).unwrap();
    let seen = gpu.device.coverage();
    assert_eq!(seen.dispatches, CoveredWork { followed: 1, ..CoveredWork::default() });
    assert_eq!((seen.followed_submissions, seen.unfinished), (1, BTreeMap::new()));
    let at = walker_in(&words);
    for (why, at, bits) in [
        ("it depends on a predicate", at, 1 << 8),
        ("its parameters are in registers", at, 1 << 10),
        ("the number of channels is reserved", at + 4, 3 << 30 & !(words[at + 4])),
        ("its interface descriptor is not known", at + 1, 0x3f),
        ("the threads get indirect data", at + 2, 32),
    ] {
        let gpu = watched("glk");
        let mut words = words.clone();
        words[at] |= bits;
        gpu.run_on(Render, &words).unwrap();
        let seen = gpu.device.coverage();
        assert_eq!((seen.dispatches, seen.followed_submissions), (skipped(why, 1), 0));
    }
    let gpu = watched("glk");
    let mut unknown = words.clone();
    // No instruction has this opcode.
    unknown[SHADER] |= 0x7f;
    gpu.run_on(Render, &unknown).unwrap();
    let seen = gpu.device.coverage();
    assert_eq!((seen.dispatches.followed, seen.dispatches.all_skipped()), (0, 1));
    assert_eq!((seen.judged_surfaces, seen.followed_submissions), (0, 0), "it declares no table");
    // The descriptor declares both entries, and one more.
    unknown[576 / 4 + 4] |= 3;
    let gpu = watched("glk");
    gpu.run_on(Render, &unknown).unwrap();
    let seen = gpu.device.coverage();
    assert_eq!((seen.judged_surfaces, seen.followed_submissions), (1, 1), "its surfaces are judged");
    let mut nothing = words;
    nothing[at + 7] = 0;
    let gpu = watched("glk");
    gpu.run_on(Render, &nothing).unwrap();
    assert_eq!(gpu.device.coverage().dispatches, CoveredWork::default(), "no group");
}

#[test]
fn commands_that_access_memory_and_are_skipped_have_names() {
    // MI_ATOMIC, MI_REPORT_PERF_COUNT, MI_CONDITIONAL_BATCH_BUFFER_END that compares no memory; 3DSTATE_WM_HZ_OP that clears depth.
    let cases: [(&str, EngineClass, &str, &[u32]); 5] = [
        ("tgl", Render, "MI_ATOMIC", &[0x1780_0001, TARGET, 0]),
        ("tgl", Render, "MI_REPORT_PERF_COUNT", &[0x1400_0002, TARGET, 0, 0]),
        ("tgl", Render, "MI_CONDITIONAL_BATCH_BUFFER_END", &[0x1b00_0002, 0, TARGET, 0]),
        ("tgl", Render, "3DSTATE_WM_HZ_OP", &[0x7852_0003, 1 << 30, 0, 0, 0]),
        ("tgl", Video, "commands of the video engines", &[0x7128_0004, 0, 0, 0, 0, 0]),
    ];
    for (name, engine, what, words) in cases {
        let seen = covered(&watched(name), engine, &[words]);
        assert_eq!(seen.skipped_commands, BTreeMap::from([(what.to_owned(), 1)]));
        assert_eq!((seen.followed_submissions, seen.unfinished), (0, BTreeMap::new()), "{what}");
    }
    let seen = covered(&watched("tgl"), Render, &[&[0x7852_0003, 0, 0, 0, 0], &STORE]);
    assert_eq!((seen.skipped_commands, seen.followed_submissions), (BTreeMap::new(), 1), "it does nothing");
    // XY_COLOR_BLT of a tiled surface on the render engine.
    let tiled = [0x5430_0804, 0x03f0_0040, 0, 0x1_0001, TARGET, 7];
    let seen = covered(&watched("ilk"), Render, &[&tiled]);
    assert_eq!((seen.skipped_commands.len(), seen.copies, seen.followed_submissions), (1, 0, 0));
}

#[test]
fn a_batch_that_hangs_or_does_not_end_is_not_followed_to_its_end() {
    let gpu = watched("tgl");
    gpu.run_on(Copy, &[0x7a00_0004, 0, 0, 0, 0, 0, END]).unwrap();
    let seen = gpu.device.coverage();
    assert_eq!(seen.unfinished, BTreeMap::from([("the GPU hangs: unsupported-command".to_owned(), 1)]));
    assert_eq!((seen.submissions, seen.followed_submissions, seen.commands), (1, 0, 1));
    gpu.device.stall_gpu(true);
    gpu.run_later(&[&STORE[..], &[END]].concat());
    let why = "they had not ended when their device was closed, or when this was counted";
    assert_eq!(gpu.device.coverage().unfinished.get(why), Some(&1));
    gpu.device.stall_gpu(false);
    assert_eq!(gpu.device.coverage().unfinished.get(why), None);
    assert_eq!(gpu.device.coverage().followed_submissions, 1);
}

#[test]
fn copies_by_the_kernel_are_judged_without_a_submission() {
    let gpu = watched("tgl");
    gpu.device.pread(gpu.source.handle(), 0, &mut [0]).unwrap();
    gpu.device.pwrite(gpu.source.handle(), 0, &[0]).unwrap();
    let seen = gpu.device.coverage();
    assert_eq!((seen.transfers, seen.submissions, seen.is_judged()), (2, 0, true));
}

/// Returns the objects that a batch may access unseen, in the order of the events.
fn unfollowed(gpu: &Gpu, words: &[u32]) -> Vec<Option<Handle>> {
    gpu.device.take_trace();
    gpu.run_on(Render, words).unwrap();
    let (traced, _) = gpu.device.take_trace();
    let of_event = |event| if let TraceEvent::Unfollowed { handle } = event { Some(handle) } else { None };
    traced.into_iter().filter_map(|one| of_event(one.event)).collect()
}

#[test]
fn skipped_work_concerns_each_object_of_its_submission_once() {
    let gpu = Gpu::new("glk");
    gpu.device.trace();
    // An object that the submission does not name.
    gpu.device.create(SIZE).unwrap();
    let all = [&gpu.target, &gpu.source, &gpu.batch].map(|buffer| Some(buffer.handle())).to_vec();
    let words = copy_shader("glk");
    assert_eq!(unfollowed(&gpu, &words), [], "all of its accesses are made");
    assert_eq!(unfollowed(&gpu, &[&STORE[..], &[END]].concat()), []);
    let mut indirect = words.clone();
    indirect[walker_in(&words)] |= 1 << 10;
    assert_eq!(unfollowed(&gpu, &indirect), all, "a dispatch");
    // Also a draw whose fixed functions are followed: its shaders are not executed.
    let draws = [&VERTICES[..], &DRAW, &DRAW, &[END]].concat();
    assert_eq!(unfollowed(&gpu, &draws), all, "two draws");
    assert_eq!(unfollowed(&gpu, &[0x0080_0002, 0x0080_0000, END]), all, "a predicate");
    assert_eq!(
        unfollowed(&gpu, &[0x0600_0000, 0x1880_8101, BATCH + 16, 0, END]),
        all,
        "a jump by a predicate"
    );
    assert_eq!(unfollowed(&gpu, &[0x1780_0001, TARGET, 0, END]), all, "MI_ATOMIC");
    assert_eq!(unfollowed(&gpu, &[1 << 29]), all, "a hang");
}
