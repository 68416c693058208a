//! Commands that move, compare and copy dwords of memory and registers, and compute with them.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use gem_coherency::platform::EngineClass::{self, Copy, Render, Video, VideoEnhance};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency_memory_model::Mistake;
use gem_coherency_sim::{HangCause, Remedy, StoreEpochs};

use crate::gpu::{BATCH, END, Gpu, SOURCE, TARGET};

/// A general-purpose register of the render engine (`HSW_CS_GPR(0)`), and its upper half.
const REGISTER: u32 = 0x2600;
const UPPER: u32 = 0x2604;
/// Its timestamp, and a counter of pixels, which never counts.
const TIMESTAMP: u32 = 0x2358;
const PIXELS: u32 = 0x2350;

/// MI_LOAD_REGISTER_IMM.
fn load(register: u32, value: u32) -> [u32; 3] {
    [0x1100_0001, register, value]
}

/// MI_STORE_REGISTER_MEM and MI_LOAD_REGISTER_MEM of graphics 8 and later, and MI_LOAD_REGISTER_REG.
fn store(register: u32, address: u32) -> [u32; 4] {
    [0x1200_0002, register, address, 0]
}
fn fetch(register: u32, address: u32) -> [u32; 4] {
    [0x1480_0002, register, address, 0]
}
fn copy(from: u32, to: u32) -> [u32; 3] {
    [0x1500_0001, from, to]
}

/// MI_SEMAPHORE_WAIT on the target's first dword, with this comparison.
fn wait(comparison: u32, value: u32) -> [u32; 4] {
    [0x0e00_8002 | comparison << 12, value, TARGET, 0]
}

#[track_caller]
fn runs(gpu: &Gpu, engine: EngineClass, parts: &[&[u32]]) {
    run(gpu, engine, parts);
    assert_eq!(gpu.device.take_gpu_hangs(), []);
}

#[track_caller]
fn run(gpu: &Gpu, engine: EngineClass, parts: &[&[u32]]) {
    let mut words = parts.concat();
    words.push(END);
    gpu.run_on(engine, &words).unwrap();
}

fn words(gpu: &Gpu) -> [u32; 3] {
    [0, 4, 8].map(|offset| gpu.target.word(offset))
}

#[test]
fn a_register_carries_values_to_and_from_memory() {
    for name in ["bdw", "glk", "jsl", "tgl", "mtl"] {
        let gpu = Gpu::new(name);
        gpu.source.put(0, &[5, 6]);
        runs(
            &gpu,
            Render,
            &[
                &load(REGISTER, 7),
                &fetch(UPPER, SOURCE + 4),
                &store(REGISTER, TARGET),
                &store(UPPER, TARGET + 4),
                &copy(UPPER, REGISTER),
                &store(REGISTER, TARGET + 8),
            ],
        );
        assert_eq!(words(&gpu), [7, 6, 6], "{name}");
        // The context keeps it for the next batch; a batch that hangs leaves nothing.
        gpu.target.put(0, &[0; 3]);
        runs(&gpu, Render, &[&store(REGISTER, TARGET)]);
        assert_eq!(words(&gpu), [6, 0, 0], "{name}");
        run(&gpu, Render, &[&[0xe000_0000]]);
        assert_eq!(gpu.device.take_gpu_hangs().len(), 1, "{name}");
        runs(&gpu, Render, &[&store(REGISTER, TARGET)]);
        assert_eq!(words(&gpu), [0, 0, 0], "{name}");
    }
}

#[test]
fn other_registers_ignore_loads_and_the_timestamp_advances() {
    let gpu = Gpu::new("tgl");
    gpu.target.put(0, &[9; 3]);
    runs(
        &gpu,
        Render,
        &[
            &load(PIXELS, 7),
            &store(PIXELS, TARGET),
            &store(TIMESTAMP, TARGET + 4),
            &load(TIMESTAMP, 0),
            &store(TIMESTAMP, TARGET + 8),
        ],
    );
    let [pixels, first, second] = words(&gpu);
    assert!(pixels == 0 && first > 0 && second > first, "{pixels} {first} {second}");
    // The video engine has general-purpose registers of its own, and no others.
    let gpu = Gpu::new("tgl");
    let (own, predicate) = (0x1c_0600, 0x2400);
    runs(
        &gpu,
        Video,
        &[&load(own, 7), &store(own, TARGET), &load(predicate, 7), &store(predicate, TARGET + 4)],
    );
    assert_eq!(words(&gpu), [7, 0, 0]);
}

#[test]
fn before_graphics_8_only_what_the_kernel_checked_uses_registers() {
    let store = |address| [0x1200_0001, REGISTER, address];
    // Haswell: checked; and in a batch with a jump, which the parser leaves to the hardware.
    let gpu = Gpu::new("hsw");
    runs(&gpu, Render, &[&load(REGISTER, 7), &store(TARGET)]);
    assert_eq!(words(&gpu), [7, 0, 0]);
    gpu.source.put(0, &[END]);
    gpu.target.put(0, &[9]);
    runs(&gpu, Render, &[&load(REGISTER, 7), &store(TARGET), &[0x1880_0100, SOURCE]]);
    assert_eq!(words(&gpu), [9, 0, 0], "the hardware does not execute it");
    // Sandybridge has no parser; Ivybridge no general-purpose registers.
    for (name, expected) in [("snb", 9), ("ivb", 0)] {
        let gpu = Gpu::new(name);
        gpu.target.put(0, &[9]);
        runs(&gpu, Render, &[&load(REGISTER, 7), &store(TARGET)]);
        assert_eq!(words(&gpu), [expected, 0, 0], "{name}");
    }
}

#[test]
fn a_dword_is_copied() {
    for engine in [Render, Video] {
        let gpu = Gpu::new("glk");
        gpu.source.put(0, &[5, 6, 7]);
        runs(&gpu, engine, &[&[0x1700_0003, TARGET + 4, 0, SOURCE + 4, 0]]);
        assert_eq!(words(&gpu), [0, 6, 0], "{engine:?}");
    }
    // An address in the global GTT.
    for global in [1 << 22, 1 << 21] {
        let gpu = Gpu::new("glk");
        run(&gpu, Render, &[&[0x1700_0003 | global, TARGET, 0, SOURCE, 0]]);
        assert_eq!(gpu.device.gpu_hangs()[0].cause, HangCause::Privileged);
    }
}

#[test]
fn a_semaphore_passes_when_its_comparison_holds_and_else_waits_for_ever() {
    // Greater, greater or equal, less, less or equal, equal, unequal: of 5 to 4, 5 and 6.
    let holds = [[4], [4], [6], [6], [5], [4]];
    let also: [&[u32]; 6] = [&[], &[5], &[], &[5], &[], &[6]];
    for (comparison, (holds, also)) in (0..).zip(holds.iter().zip(also)) {
        for value in [4, 5, 6] {
            let gpu = Gpu::new("tgl");
            gpu.target.put(0, &[5]);
            run(&gpu, Render, &[&wait(comparison, value), &[0x1000_0002, TARGET + 4, 0, 7]]);
            let passes = holds.contains(&value) || also.contains(&value);
            let expected = if passes { vec![] } else { vec![(HangCause::Endless, Remedy::Cancelled)] };
            let hangs = gpu.device.gpu_hangs();
            let told: Vec<_> = hangs.iter().map(|hang| (hang.cause, hang.remedy)).collect();
            assert_eq!(told, expected, "{comparison} {value}");
            assert_eq!(gpu.target.word(4), if passes { 7 } else { 0 }, "{comparison} {value}");
        }
    }
    let gpu = Gpu::new("tgl");
    run(&gpu, Render, &[&wait(6, 0)]);
    assert_eq!(gpu.device.gpu_hangs()[0].cause, HangCause::Unknown, "there is no such comparison");
}

#[test]
fn a_conditional_end_ends_the_batch_unless_memory_is_greater() {
    let end = |flags: u32, value| [0x1b20_0002 | flags, value, TARGET, 0];
    let after = [0x1000_0002, TARGET + 8, 0, 7];
    for (flags, value, goes_on) in [
        (0, 4, true),
        (0, 5, false),
        // Equal; of 5 and 3, masked; without a comparison.
        (4 << 12, 5, true),
        (1 << 19 | 4 << 12, 1, true),
        (1 << 19 | 4 << 12, 5, false),
    ] {
        let gpu = Gpu::new("tgl");
        gpu.target.put(0, &[5, 3]);
        runs(&gpu, Video, &[&end(flags, value), &after]);
        assert_eq!(gpu.target.word(8), if goes_on { 7 } else { 0 }, "{flags:x} {value}");
    }
    // Without bit 21 it does not compare.
    let gpu = Gpu::new("tgl");
    runs(&gpu, Video, &[&[0x1b00_0002, 5, TARGET, 0], &after]);
    assert_eq!(gpu.target.word(8), 7);
    // In a second level it ends the first one, too, or comes back (bit 18).
    for (flags, expected) in [(0, 0), (1 << 18, 7)] {
        let gpu = Gpu::new("tgl");
        gpu.source.put(0, &end(flags, 5));
        runs(&gpu, Render, &[&[0x18c0_0101, SOURCE, 0], &after]);
        assert_eq!(gpu.target.word(8), expected, "{flags:x}");
    }
}

/// The predicate's result, and MI_SET_PREDICATE: no predicate; no-ops if the result is clear, or set; always.
const RESULT: u32 = 0x2418;
const OFF: u32 = 0x0080_0000;
const UNLESS: u32 = 0x0080_0003;
const IF: u32 = 0x0080_0004;
const ALWAYS: u32 = 0x0080_000f;

/// MI_STORE_DATA_IMM of graphics 8 and later.
fn put(address: u32, value: u32) -> [u32; 4] {
    [0x1000_0002, address, 0, value]
}

#[test]
fn the_streamer_computes_and_jumps_by_what_it_computed() {
    // MI_MATH: register 2 is all ones if the registers 0 and 1 are equal.
    let equal = [0x0d00_0003, 0x0800_8000, 0x0800_8401, 0x1010_0000, 0x1800_0832];
    for name in ["bdw", "glk", "tgl", "dg2", "mtl"] {
        for (second, jumps) in [(5, true), (6, false)] {
            let gpu = Gpu::new(name);
            let begin = [
                &load(REGISTER, 5)[..],
                &load(UPPER, 0),
                &load(REGISTER + 8, second),
                &load(UPPER + 8, 0),
                &equal,
                &copy(REGISTER + 16, RESULT),
                &[UNLESS],
            ]
            .concat();
            // Over the first store, and MI_SET_PREDICATE before it.
            let behind = BATCH + 4 * (begin.len() as u32 + 3 + 1 + 4);
            let jump = [0x1880_8101, behind, 0];
            runs(&gpu, Render, &[&begin, &jump, &[OFF], &put(TARGET, 7), &[OFF], &put(TARGET + 4, 8)]);
            assert_eq!(words(&gpu), [if jumps { 0 } else { 7 }, 8, 0], "{name}, {second}");
            assert_eq!(gpu.device.coverage().unfinished.len(), 0, "{name}");
        }
    }
}

#[test]
fn a_copy_engine_computes_from_graphics_8_on() {
    for name in ["bdw", "glk", "tgl", "mtl"] {
        let gpu = Gpu::new(name);
        let register = |number: u32| 0x2_2600 + 8 * number;
        // Register 1 minus register 0, inverted.
        let invert = [0x0d00_0003, 0x0800_8001, 0x0800_8400, 0x1010_0000, 0x5800_0831];
        runs(
            &gpu,
            Copy,
            &[
                &load(register(0), 5),
                &load(register(1), 12),
                &invert,
                &store(register(2), TARGET),
                &store(0x2_23a8, TARGET + 4),
                &put(TARGET + 8, 1),
            ],
        );
        let [inverted, time, last] = words(&gpu);
        assert_eq!((inverted, last), (!7, 1), "{name}");
        assert_ne!(time, 0, "{name}: the context has run");
    }
    let hsw = Gpu::new("hsw");
    run(&hsw, Copy, &[&[0x0d00_0000, 0x1010_0000]]);
    assert_eq!(hsw.device.take_gpu_hangs().len(), 1, "before, it hangs");
}

#[test]
fn memory_changes_by_an_atomic_operation_and_a_conditional_end_compares_any_dword() {
    for engine in [Render, Copy] {
        let gpu = Gpu::new("tgl");
        // The second dword is 2, then 3.
        let increment = [0x1780_0501, TARGET + 4, 0];
        let end_unless_more = |value| [0x1b20_0002, value, TARGET + 4, 0];
        runs(
            &gpu,
            engine,
            &[
                &put(TARGET, 9),
                &put(TARGET + 4, 2),
                &increment,
                &end_unless_more(2),
                &put(TARGET + 8, 1),
                &end_unless_more(3),
                &put(TARGET + 8, 2),
            ],
        );
        assert_eq!(words(&gpu), [9, 3, 1], "{engine:?}");
        assert_eq!(gpu.device.coverage().unfinished.len(), 0);
    }
}

#[test]
fn commands_are_no_ops_while_the_predicate_says_so() {
    for (when, result, is_done) in [
        (UNLESS, 0, false),
        (UNLESS, 1, true),
        (IF, 0, true),
        (IF, 1, false),
        (ALWAYS, 1, false),
        (OFF, 0, true),
    ] {
        let gpu = Gpu::new("tgl");
        let parts: [&[u32]; 5] =
            [&load(RESULT, result), &[when], &put(TARGET, 7), &[OFF], &put(TARGET + 4, 8)];
        runs(&gpu, Render, &parts);
        assert_eq!(words(&gpu), [if is_done { 7 } else { 0 }, 8, 0], "{when:#x}, {result}");
        assert_eq!(gpu.device.coverage().skipped_commands.len(), 0);
    }
}

#[test]
fn a_result_that_is_not_known_is_no_predicate() {
    // MI_PREDICATE compares what is not simulated; the second result is not, either.
    for parts in [
        &[&load(RESULT, 1)[..], &[0x0600_0000], &[UNLESS]][..],
        &[&[0x0080_0001]],
        &[&copy(PIXELS, RESULT), &[IF]],
    ] {
        let gpu = Gpu::new("tgl");
        let last: [&[u32]; 2] = [&put(TARGET, 7), &[OFF]];
        runs(&gpu, Render, &[parts, &last].concat());
        assert_eq!(words(&gpu), [7, 0, 0], "the streamer's own commands are executed");
        assert_eq!(gpu.device.coverage().skipped_commands.get("MI_SET_PREDICATE"), Some(&1));
    }
}

#[test]
fn a_new_context_has_zeroes_in_its_registers() {
    let parts: [&[u32]; 5] =
        [&copy(REGISTER, RESULT), &[UNLESS], &put(TARGET, 7), &[OFF], &put(TARGET + 4, 8)];
    for name in ["bdw", "tgl", "mtl"] {
        let gpu = Gpu::new(name);
        runs(&gpu, Render, &parts);
        assert_eq!(words(&gpu), [0, 8, 0], "{name}: the predicate does not hold");
        assert_eq!(gpu.device.coverage().skipped_commands.len(), 0, "{name}");
        // After a hang it is not known what the hardware has.
        run(&gpu, Render, &[&[0xe000_0000]]);
        assert_eq!(gpu.device.take_gpu_hangs().len(), 1, "{name}");
        runs(&gpu, Render, &parts);
        assert_eq!(words(&gpu), [7, 8, 0], "{name}");
        assert_eq!(gpu.device.coverage().skipped_commands.get("MI_SET_PREDICATE"), Some(&1), "{name}");
    }
}

#[test]
fn after_a_jump_that_is_not_known_the_registers_are_not_either() {
    let gpu = Gpu::new("tgl");
    let next = BATCH + 4 * 7;
    runs(&gpu, Render, &[&load(REGISTER, 1), &[0x0600_0000], &[0x1880_8101, next, 0]]);
    assert_eq!(gpu.device.coverage().unfinished.values().sum::<u64>(), 1);
    runs(&gpu, Render, &[&copy(REGISTER, RESULT), &[UNLESS], &[OFF]]);
    assert_eq!(gpu.device.coverage().skipped_commands.get("MI_SET_PREDICATE"), Some(&1));
    runs(&gpu, Render, &[&store(REGISTER, TARGET)]);
    assert_eq!(words(&gpu), [1, 0, 0], "what was loaded is stored");
    // A jump that is known leaves them known.
    let gpu = Gpu::new("tgl");
    runs(&gpu, Render, &[&load(REGISTER, 1), &load(RESULT, 1), &[0x1880_8101, next + 8, 0]]);
    runs(&gpu, Render, &[&copy(REGISTER, RESULT), &[UNLESS], &[OFF]]);
    assert_eq!(gpu.device.coverage().skipped_commands.len(), 0);
}

#[test]
fn what_is_loaded_after_a_predicate_that_is_not_known_is_not_either() {
    let compares: [&[u32]; 2] = [&[0x0600_0000], &[UNLESS]];
    for is_doubtful in [true, false] {
        let gpu = Gpu::new("tgl");
        let load = [&load(REGISTER, 1)[..], &copy(REGISTER, REGISTER + 8)].concat();
        let store = store(REGISTER + 8, TARGET);
        let behind: [&[u32]; 2] = if is_doubtful { [&load, &[OFF]] } else { [&[OFF], &load] };
        let parts = [&compares[..], &behind, &[&store]].concat();
        runs(&gpu, Render, &parts);
        assert_eq!(words(&gpu), [1, 0, 0], "the streamer's own commands are executed");
        assert_eq!(gpu.device.coverage().skipped_commands.get("MI_SET_PREDICATE"), Some(&1));
        runs(&gpu, Render, &[&copy(REGISTER + 8, RESULT), &[UNLESS], &[OFF]]);
        let skipped = gpu.device.coverage().skipped_commands;
        assert_eq!(skipped.get("MI_SET_PREDICATE"), Some(if is_doubtful { &2 } else { &1 }));
    }
}

#[test]
fn a_bit_adds_the_start_of_the_engines_registers() {
    // MI_LOAD_REGISTER_IMM, _MEM and _REG, and MI_STORE_REGISTER_MEM, with offsets of 0x600 on.
    const OF_ENGINE: u32 = 1 << 19;
    const SOURCE_OF_ENGINE: u32 = 1 << 18;
    let with = |command: &[u32], bits: u32| [&[command[0] | bits], &command[1..]].concat();
    for (name, engine, start, adds) in [
        ("glk", Render, 0x2000, false),
        ("mtl", Copy, 0x2_2000, true),
        ("jsl", Render, 0x2000, true),
        ("tgl", Render, 0x2000, true),
        ("tgl", Video, 0x1c_0000, true),
        ("dg2", VideoEnhance, 0x1c_8000, true),
        ("mtl", Render, 0x2000, true),
    ] {
        let gpu = Gpu::new(name);
        gpu.source.put(0, &[5, 6]);
        let parts = [
            with(&load(0x600, 7), OF_ENGINE),
            with(&fetch(0x608, SOURCE), OF_ENGINE),
            with(&copy(0x600, 0x610), OF_ENGINE | SOURCE_OF_ENGINE),
            store(start + 0x600, TARGET).to_vec(),
            store(start + 0x608, TARGET + 4).to_vec(),
            store(start + 0x610, TARGET + 8).to_vec(),
            load(start + 0x618, 9).to_vec(),
            with(&store(0x618, TARGET + 12), OF_ENGINE),
        ];
        runs(&gpu, engine, &parts.each_ref().map(Vec::as_slice));
        let expected = if adds { [7, 5, 7] } else { [0, 0, 0] };
        assert_eq!((words(&gpu), gpu.target.word(12)), (expected, if adds { 9 } else { 0 }), "{name}");
    }
}

#[test]
fn the_streamer_jumps_by_what_it_computed_with_registers_of_its_own() {
    const OF_ENGINE: u32 = 1 << 19;
    // MI_MATH: register 2 is all ones if the registers 0 and 1 are equal.
    let equal = [0x0d00_0003, 0x0800_8000, 0x0800_8401, 0x1010_0000, 0x1800_0832];
    let load = |register: u32, value: u32| [0x1100_0001 | OF_ENGINE, register, value];
    for name in ["jsl", "tgl", "dg2", "mtl"] {
        for (second, jumps) in [(5, true), (6, false)] {
            let gpu = Gpu::new(name);
            let begin = [
                &load(0x600, 5)[..],
                &load(0x604, 0),
                &load(0x608, second),
                &load(0x60c, 0),
                &equal,
                &[0x150c_0001, 0x610, 0x418],
                &[UNLESS],
            ]
            .concat();
            let behind = BATCH + 4 * (begin.len() as u32 + 3 + 1 + 4);
            runs(&gpu, Render, &[&begin, &[0x1880_8101, behind, 0], &[OFF], &put(TARGET, 7), &[OFF]]);
            assert_eq!(words(&gpu), [if jumps { 0 } else { 7 }, 0, 0], "{name}, {second}");
            assert_eq!(gpu.device.coverage().skipped_commands.len(), 0, "{name}");
        }
    }
}

#[test]
fn what_a_copy_engine_wrote_is_read_after_a_flush() {
    // XY_FAST_COPY_BLT of 2 rows of 64 bytes, 4 KiB apart, from the source; MI_COPY_MEM_MEM of a dword of the target to its first one.
    let blit = [0x5080_0008, 0x0300_1000, 0, 0x0002_0010, TARGET, 0, 0, 0x1000, SOURCE, 0];
    let read = |offset: u32| [0x1700_0003, TARGET + 8192, 0, TARGET + offset, 0];
    let flush = [0x1300_0003, 0, 0, 0, 0];
    let cases: [(&[&[u32]], &[u64]); 5] = [
        (&[&blit, &read(60)], &[0]),
        (&[&blit, &read(64)], &[]),
        (&[&blit, &read(4096), &read(4096)], &[64]),
        (&[&blit, &flush, &read(0)], &[]),
        (&[&read(0), &blit], &[]),
    ];
    for (commands, expected) in cases {
        let gpu = Gpu::new("tgl");
        gpu.device.watch(true);
        runs(&gpu, Copy, commands);
        let found = gpu.device.incoherent();
        let unflushed: Vec<_> = found.iter().filter(|one| one.kind == Mistake::UnflushedGpuWrite).collect();
        let lines: Vec<u64> =
            unflushed.iter().flat_map(|one| &one.lines).map(|lines| lines.first()).collect();
        assert_eq!(lines, expected, "{commands:x?}");
    }
}

/// Bytes of an object, by number, and the epoch in which a program stored to them.
type Stored = (u64, Range<u64>, u64);

/// What a program stored: bytes of objects, by number, with their epochs; and what the GPU wrote since.
#[derive(Debug)]
struct Stores {
    stored: Vec<Stored>,
    overwritten: Mutex<Vec<(u64, u64, usize)>>,
    polled: Mutex<Vec<(u64, u64)>>,
}

impl StoreEpochs for Stores {
    fn last(&self, object: u64, offset: u64, now: &[u32]) -> Option<(u64, Vec<u64>)> {
        let end = offset + 4 * now.len() as u64;
        assert_eq!(offset / PAGE_BYTES, (end - 1) / PAGE_BYTES, "one page");
        let of_object = self
            .stored
            .iter()
            .filter(|(stored, bytes, _)| *stored == object && bytes.start < end && offset < bytes.end);
        let (_, bytes, epoch) = of_object.max_by_key(|(.., epoch)| *epoch)?;
        Some((*epoch, (bytes.start.max(offset)..bytes.end.min(end)).step_by(4).collect()))
    }

    fn overwrite(&self, object: u64, offset: u64, new: &[u8]) {
        self.overwritten.lock().unwrap().push((object, offset, new.len()));
    }

    fn polls(&self, object: u64, offset: u64) {
        self.polled.lock().unwrap().push((object, offset));
    }
}

#[test]
fn stores_of_the_epoch_that_a_batch_waited_for_may_not_be_drained() {
    const EQUAL: u32 = 4;
    const TARGET_OBJECT: u64 = 1;
    const SOURCE_OBJECT: u64 = 2;
    const BATCH_OBJECT: u64 = 3;
    let blit = [0x5080_0008, 0x0300_1000, 0, 0x0002_0010, TARGET + 8192, 0, 0, 0x1000, SOURCE, 0];
    let read = [0x1700_0003, TARGET + 8192, 0, SOURCE + 4096, 0];
    let announced = (TARGET_OBJECT, 0..4, 10);
    let bytes = |epoch| (SOURCE_OBJECT, 4096..4104, epoch);
    // The commands, the stores, and the undrained lines: 64 of the source, 0 of the batch.
    let cases: [(&[&[u32]], _, &[u64]); 9] = [
        (&[&wait(EQUAL, 0), &blit], vec![announced.clone(), bytes(10)], &[64]),
        (&[&wait(EQUAL, 0), &read], vec![announced.clone(), bytes(10)], &[64]),
        // The commands themselves, from the first one behind the wait on.
        (&[&wait(EQUAL, 0), &read], vec![announced.clone(), (BATCH_OBJECT, 0..32, 10)], &[0]),
        (&[&wait(EQUAL, 0), &read], vec![announced.clone(), (BATCH_OBJECT, 0..16, 10)], &[]),
        // A fence came between, one way or the other.
        (&[&wait(EQUAL, 0), &blit], vec![announced.clone(), bytes(9)], &[]),
        (&[&wait(EQUAL, 0), &blit], vec![announced.clone(), bytes(11)], &[]),
        // The batch waited for no store of a program, or did not wait.
        (&[&wait(EQUAL, 0), &blit], vec![bytes(10)], &[]),
        (&[&blit], vec![announced.clone(), bytes(10)], &[]),
        // The announcement itself.
        (&[&wait(EQUAL, 0), &[0x1700_0003, TARGET + 8192, 0, TARGET, 0]], vec![announced.clone()], &[]),
    ];
    for (commands, stored, expected) in cases {
        let gpu = Gpu::new("tgl");
        let stores = Arc::new(Stores {
            stored: stored.clone(),
            overwritten: Mutex::default(),
            polled: Mutex::default(),
        });
        gpu.device.set_store_epochs(stores.clone());
        gpu.device.watch(true);
        runs(&gpu, Copy, commands);
        let found = gpu.device.incoherent();
        let undrained = found.iter().filter(|one| one.kind == Mistake::UndrainedStore);
        let lines: Vec<u64> = undrained.flat_map(|one| &one.lines).map(|lines| lines.first()).collect();
        assert_eq!(lines, expected, "{commands:x?}, {stored:?}");
        let polled: &[(u64, u64)] = if commands.len() == 1 { &[] } else { &[(TARGET_OBJECT, 0)] };
        assert_eq!(*stores.polled.lock().unwrap(), polled, "{commands:x?}");
        let overwritten = stores.overwritten.lock().unwrap();
        let is_target = |&(object, offset, _): &(u64, u64, usize)| object == TARGET_OBJECT && offset >= 8192;
        assert!(!overwritten.is_empty() && overwritten.iter().all(is_target), "{overwritten:?}");
    }
}
