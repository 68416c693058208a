//! Batches of the render and video engines: commands without a simulated effect are skipped by their length.

use gem_coherency::Errno;
use gem_coherency::backend::{Addresses, Drm, ExecObject, Extras, Run};
use gem_coherency::platform::EngineClass::{self, Copy, Render, Video, VideoEnhance};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode};
use gem_coherency_sim::{HangCause, Remedy};

use crate::errno;
use crate::gpu::{BATCH, END, Gpu, SIZE, SOURCE, TARGET};

/// A dword that no engine executes, as every operand of a skipped command: a wrong length hangs.
const TRAP: u32 = 0xffff_ffff;

/// A command of this many dwords.
fn skipped(first: u32, dwords: usize) -> Vec<u32> {
    let mut words = vec![first];
    words.resize(dwords, TRAP);
    words
}

/// PIPE_CONTROL that stalls, flushes the render cache, and performs this post-sync operation.
fn control(name: &str, operation: u32, address: u32, data: u64) -> Vec<u32> {
    let flags = 1 << 20 | 1 << 12 | operation << 14;
    let data = [data as u32, (data >> 32) as u32];
    match name {
        "i965gm" | "gm45" | "ilk" => vec![0x7a00_0002 | operation << 14, address | 4, data[0], data[1]],
        // Bit 2: the global GTT, as Mesa writes on Sandybridge.
        "snb" => vec![0x7a00_0003, flags, address | 4, data[0], data[1]],
        "ivb" | "hsw" => vec![0x7a00_0003, flags, address, data[0], data[1]],
        _ => vec![0x7a00_0004, flags, address, 0, data[0], data[1]],
    }
}

/// The first dwords and lengths of commands in the order in which Mesa's drivers write a frame and a dispatch.
fn frame(name: &str) -> Vec<(u32, usize)> {
    let mut commands = vec![
        // PIPELINE_SELECT, 3DSTATE_VF_STATISTICS.
        (0x6904_0300, 1),
        (0x680b_0001, 1),
        // STATE_BASE_ADDRESS.
        match name {
            "i965gm" | "gm45" | "ilk" => (0x6101_0006, 8),
            "snb" | "ivb" | "hsw" => (0x6101_0008, 10),
            "bdw" => (0x6101_000e, 16),
            "skl" | "glk" => (0x6101_0011, 19),
            _ => (0x6101_0014, 22),
        },
        // 3DSTATE_VERTEX_BUFFERS, 3DSTATE_VERTEX_ELEMENTS, 3DSTATE_DRAWING_RECTANGLE, 3DPRIMITIVE.
        (0x7808_007f, 0x81),
        (0x7809_0003, 5),
        (0x7900_0002, 4),
        (0x7b00_0505, 7),
    ];
    if name == "i965gm" {
        commands.splice(..2, [(0x6104_0000, 1), (0x780b_0001, 1)]);
        commands[3] = (0x7808_0003, 5);
    }
    let has_compute_walker = matches!(name, "dg2" | "mtl");
    match name {
        "i965gm" | "gm45" | "ilk" | "snb" => {}
        _ => commands.extend([
            // 3DSTATE_VIEWPORT_STATE_POINTERS_CC, 3DSTATE_PS, 3DSTATE_SO_DECL_LIST.
            (0x7823_0000, 2),
            (0x7820_000a, 12),
            (0x7917_0101, 0x103),
        ]),
    }
    match name {
        "i965gm" | "gm45" | "ilk" | "snb" => {}
        // CFE_STATE, COMPUTE_WALKER.
        _ if has_compute_walker => commands.extend([(0x7200_0004, 6), (0x7202_0525, 39)]),
        // MEDIA_VFE_STATE, MEDIA_CURBE_LOAD, MEDIA_INTERFACE_DESCRIPTOR_LOAD, GPGPU_WALKER, MEDIA_OBJECT,
        // MEDIA_STATE_FLUSH.
        _ => commands.extend([
            (0x7000_0007, 9),
            (0x7001_0002, 4),
            (0x7002_0002, 4),
            (0x7105_050d, 15),
            (0x7100_0104, 0x106),
            (0x7004_0000, 2),
        ]),
    }
    commands
}

fn batch(commands: &[(u32, usize)], parts: &[&[u32]]) -> Vec<u32> {
    let mut words: Vec<u32> = commands.iter().flat_map(|&(first, dwords)| skipped(first, dwords)).collect();
    // The kernel's parser on graphics 7 checks that MEDIA_VFE_STATE accesses no register (dword 2).
    if let Some(at) = words.iter().position(|&word| word == 0x7000_0007) {
        words[at + 2] &= !0x18;
    }
    words.extend(parts.concat());
    words.push(END);
    words
}

#[track_caller]
fn causes(gpu: &Gpu) -> Vec<HangCause> {
    gpu.device.take_gpu_hangs().iter().map(|hang| hang.cause).collect()
}

const PLATFORMS: [&str; 15] = [
    "i965gm", "gm45", "ilk", "snb", "ivb", "hsw", "bdw", "skl", "glk", "icl", "jsl", "tgl", "dg1", "dg2",
    "mtl",
];

#[test]
fn a_frame_runs_to_its_end_and_its_post_sync_write_arrives() {
    for name in PLATFORMS {
        let gpu = Gpu::new(name);
        gpu.target.put(0, &[TRAP; 6]);
        let words = batch(&frame(name), &[&control(name, 1, TARGET + 8, 0x1_0000_0007)]);
        gpu.run_on(Render, &words).unwrap();
        assert_eq!((causes(&gpu), gpu.device.gpu_faults()), (vec![], vec![]), "{name}");
        let seen = [4, 8, 12, 16].map(|offset| gpu.target.word(offset));
        assert_eq!(seen, [TRAP, 7, 1, TRAP], "{name}");
    }
}

#[test]
fn a_length_that_is_off_by_one_runs_into_what_no_engine_executes() {
    for name in ["i965gm", "snb", "bdw", "glk", "jsl", "tgl", "mtl"] {
        for wrong in frame(name).iter().filter(|(_, dwords)| *dwords > 2) {
            let gpu = Gpu::new(name);
            gpu.run_on(Render, &batch(&[(wrong.0 - 1, wrong.1)], &[])).unwrap();
            assert_eq!(causes(&gpu), [HangCause::Unknown], "{name} {:x}", wrong.0);
        }
    }
    // On Haswell the kernel finds it first.
    let gpu = Gpu::new("hsw");
    assert_eq!(errno(gpu.run_on(Render, &batch(&[(0x7820_0009, 12)], &[]))), Some(Errno::EINVAL));
}

#[test]
fn a_frame_without_an_end_runs_on() {
    for name in ["glk", "jsl", "tgl", "mtl", "snb"] {
        let gpu = Gpu::new(name);
        let mut words = batch(&frame(name), &[]);
        words.pop();
        gpu.run_on(Render, &words).unwrap();
        assert_eq!(causes(&gpu), [HangCause::Endless], "{name}");
    }
    let (gpu, mut words) = (Gpu::new("hsw"), batch(&frame("hsw"), &[]));
    words.pop();
    assert_eq!(errno(gpu.run_on(Render, &words)), Some(Errno::EINVAL), "the kernel looks for an end");
}

#[test]
fn a_truncated_command_takes_its_rest_from_what_lies_after_the_batch() {
    for name in ["glk", "tgl", "mtl"] {
        let gpu = Gpu::new(name);
        gpu.target.put(0, &[TRAP; 4]);
        let last = control(name, 1, TARGET, 0x1_0000_0007);
        // All but the last dword, at the end of the buffer; after it nothing is bound.
        gpu.batch.put(SIZE - 20, &last[..5]);
        gpu.run_on(Render, &[0x1880_0101, BATCH + SIZE as u32 - 20, 0, END]).unwrap();
        assert_eq!([0, 4, 8].map(|offset| gpu.target.word(offset)), [7, 0, TRAP], "{name}");
        let hangs = gpu.device.take_gpu_hangs();
        let told: Vec<_> = hangs.iter().map(|hang| (hang.cause, hang.remedy, hang.address)).collect();
        let behind = u64::from(BATCH) + SIZE;
        assert_eq!(told, [(HangCause::Endless, Remedy::Cancelled, behind + 4)], "{name}");
        assert_eq!(gpu.device.gpu_faults()[0].address, behind, "{name}");
    }
    let gpu = Gpu::new("glk");
    // A skipped command takes the end with it.
    gpu.run_on(Render, &[0x7820_0001, 0, END]).unwrap();
    assert_eq!(causes(&gpu), [HangCause::Endless]);
    gpu.run_on(Render, &[0x7820_0000, 0, END]).unwrap();
    assert_eq!(causes(&gpu), []);
    // The kernel's parser accepts only whole commands.
    let gpu = Gpu::new("hsw");
    assert_eq!(errno(gpu.run_on(Render, &[0x7820_0001, 0])), Some(Errno::EINVAL));
    assert_eq!(errno(gpu.run_on(Render, &[0x7820_0000, 0, END])), None);
}

#[test]
fn haswells_parser_reads_batches_of_many_pages() {
    let gpu = Gpu::new("hsw");
    let state = [(0x7820_000a, 12)].repeat(800);
    gpu.run_on(Render, &batch(&state, &[&control("hsw", 1, TARGET, 7)])).unwrap();
    assert_eq!((causes(&gpu), gpu.target.word(0)), (vec![], 7));
}

#[test]
fn a_long_command_is_skipped_without_being_read() {
    let gpu = Gpu::new("tgl");
    // MEDIA_OBJECT of 0x10001 dwords ends after the batch's buffer, where nothing is bound.
    gpu.run_on(Render, &[0x7100_ffff]).unwrap();
    let faults: Vec<_> = gpu.device.gpu_faults().iter().map(|fault| fault.address).collect();
    assert_eq!((causes(&gpu), faults), (vec![HangCause::Endless], vec![u64::from(BATCH) + 4 * 0x1_0001]));
}

#[test]
fn a_timestamp_grows_and_a_depth_count_is_zero() {
    for name in ["ilk", "snb", "hsw", "glk", "jsl", "tgl", "mtl"] {
        let gpu = Gpu::new(name);
        gpu.target.put(0, &[TRAP; 8]);
        let parts: [&[u32]; 3] = [
            &control(name, 3, TARGET, 0),
            &control(name, 3, TARGET + 8, 0),
            &control(name, 2, TARGET + 16, 9),
        ];
        gpu.run_on(Render, &batch(&[], &parts)).unwrap();
        assert_eq!(causes(&gpu), [], "{name}");
        let [first, first_upper, second, second_upper, count, count_upper, after] =
            [0, 4, 8, 12, 16, 20, 24].map(|offset| gpu.target.word(offset));
        assert!(first > 0 && second > first, "{name}: {first} {second}");
        let rest = [first_upper, second_upper, count, count_upper, after];
        assert_eq!(rest, [0, 0, 0, 0, TRAP], "{name}");
    }
}

#[test]
fn a_control_writes_only_to_memory_that_is_the_batchs() {
    let flagged = |name, flags| {
        let mut words = control(name, 1, TARGET, 7);
        words[1] |= flags;
        batch(&[], &[&words])
    };
    // Index in the status page, register.
    for flags in [1 << 21, 1 << 23] {
        let gpu = Gpu::new("tgl");
        gpu.run_on(Render, &flagged("tgl", flags)).unwrap();
        assert_eq!((causes(&gpu), gpu.target.word(0)), (vec![], 0), "{flags:x}");
    }
    // The global GTT. On Haswell the kernel's parser lets the hardware decide.
    for name in ["hsw", "tgl"] {
        let gpu = Gpu::new(name);
        gpu.run_on(Render, &flagged(name, 1 << 24)).unwrap();
        assert_eq!((causes(&gpu), gpu.target.word(0)), (vec![HangCause::Privileged], 0), "{name}");
    }
    // A video engine has no PIPE_CONTROL, so nothing is written.
    let gpu = Gpu::new("tgl");
    gpu.run_on(Video, &flagged("tgl", 0)).unwrap();
    assert_eq!((causes(&gpu), gpu.target.word(0)), (vec![], 0));
}

#[test]
fn a_post_sync_write_follows_the_page_table_as_any_write_does() {
    for (mode, expected) in [(CachingMode::None, 0), (CachingMode::Cached, 7)] {
        let gpu = Gpu::new("glk");
        gpu.device.set_caching(gpu.target.handle(), mode).unwrap();
        let map = gpu.device.map(gpu.target.handle(), MmapMode::Wb, SIZE).unwrap();
        let mut bytes = [0; 4];
        map.copy_out(0, &mut bytes).unwrap();
        gpu.run_on(Render, &batch(&[], &[&control("glk", 1, TARGET, 7)])).unwrap();
        map.copy_out(0, &mut bytes).unwrap();
        assert_eq!(u32::from_le_bytes(bytes), expected, "{mode:?}: the line that the CPU kept");
        assert_eq!(gpu.target.word(0), 7, "{mode:?}");
    }
}

#[test]
fn video_engines_skip_their_state_and_write_after_a_flush() {
    for name in ["snb", "hsw", "glk", "jsl", "tgl", "mtl"] {
        let wide = !matches!(name, "snb" | "hsw");
        let flush = |operation: u32, address| {
            let first = 0x1300_0002 | u32::from(wide) | operation << 14;
            if wide { vec![first, address, 0, 7, 8] } else { vec![first, address, 7, 8] }
        };
        // MFX_WAIT, MFX_PIPE_MODE_SELECT, MFX_JPEG_HUFF_TABLE_STATE, MFD_AVC_BSD_OBJECT, MFX_WAIT.
        let decoder =
            [(0x6800_0101, 1), (0x7000_0003, 5), (0x7702_033d, 0x33f), (0x7128_0004, 6), (0x6800_0101, 1)];
        // VEBOX_SURFACE_STATE, VEBOX_STATE, VEB_DI_IECP.
        let enhancer = [(0x7400_0007, 9), (0x7402_0111, 0x113), (0x7403_0012, 20)];
        let engines: [(EngineClass, &[(u32, usize)]); 2] = [(Video, &decoder), (VideoEnhance, &enhancer)];
        for (engine, commands) in engines {
            if (name, engine) == ("snb", VideoEnhance) {
                continue;
            }
            let gpu = Gpu::new(name);
            let words = batch(commands, &[&flush(1, TARGET), &flush(3, TARGET + 8)]);
            gpu.run_on(engine, &words).unwrap();
            assert_eq!(causes(&gpu), [], "{name} {engine:?}");
            assert_eq!([0, 4].map(|offset| gpu.target.word(offset)), [7, 8], "{name} {engine:?}");
            assert_ne!(gpu.target.word(8), 0, "{name} {engine:?}");
            if name != "hsw" {
                gpu.run_on(engine, &batch(&[(commands[1].0 - 1, commands[1].1)], &[])).unwrap();
                assert_eq!(causes(&gpu), [HangCause::Unknown], "{name} {engine:?}");
            }
        }
    }
}

#[test]
fn what_no_engine_has_hangs() {
    let cases: [(&str, EngineClass, &[u32]); 9] = [
        // A client that does not exist; the copy engine's commands; MI opcodes of other generations.
        ("tgl", Render, &[0xe000_0000, END]),
        ("tgl", Render, &[0x2000_0000, END]),
        ("tgl", Video, &[0x5430_0005, 0x03f0_0040, 0, 0x1_0001, TARGET, 0, 7, END]),
        ("tgl", Video, &[0x0780_0000, END]),
        ("icl", Render, &[0x0480_0000, END]),
        ("snb", Render, &[0x0600_0000, END]),
        ("mtl", Render, &[0x1e00_0000, END]),
        // Wrong lengths of commands that are executed.
        ("tgl", Render, &[0x7a00_0005, 1 << 14, TARGET, 0, 7, 0, 0, END]),
        ("tgl", Render, &[0x1100_0002, 0x2600, 1, 0x2604, END]),
    ];
    for (name, engine, words) in cases {
        let gpu = Gpu::new(name);
        gpu.run_on(engine, words).unwrap();
        assert_eq!(causes(&gpu), [HangCause::Unknown], "{name} {engine:?} {words:x?}");
        assert_eq!(gpu.device.hangs().unwrap(), 1, "{name} {engine:?} {words:x?}");
    }
}

#[test]
fn a_copy_engine_still_hangs_at_what_is_not_simulated() {
    // PIPE_CONTROL and MI_SET_PREDICATE; comparisons and registers before graphics 8.
    for (name, words, cause) in [
        ("tgl", &[0x7a00_0004, 0, 0, 0, 0, 0, END][..], HangCause::Unsupported),
        ("tgl", &[0x0080_0000, END], HangCause::Unknown),
        ("hsw", &[0x1b20_0001, 7, SOURCE, END], HangCause::Unsupported),
        ("hsw", &[0x1100_0001, 0x2_2600, 7, END], HangCause::Unsupported),
    ] {
        let gpu = Gpu::new(name);
        gpu.run_on(Copy, words).unwrap();
        assert_eq!(causes(&gpu), [cause], "{name} {words:x?}");
    }
}

#[test]
fn the_renderer_blits_before_there_is_a_copy_engine() {
    for name in ["i915gm", "i965gm", "ilk"] {
        let gpu = Gpu::new(name);
        // XY_COLOR_BLT of one pixel; one of a tiled surface is skipped.
        let fill = [0x5430_0004, 0x03f0_0040, 0, 0x1_0001, TARGET, 7];
        let tiled = [0x5430_0804, 0x03f0_0040, 0, 0x1_0001, TARGET + 8, 7];
        gpu.run_on(Render, &batch(&[], &[&fill, &tiled])).unwrap();
        assert_eq!((causes(&gpu), gpu.target.word(0), gpu.target.word(8)), (vec![], 7, 0), "{name}");
    }
}

#[test]
fn a_dg2_has_the_older_fills_and_a_meteor_lake_does_not() {
    let fill = [0x5430_0005, 0x03f0_0040, 0, 0x1_0001, TARGET, 0, 7, END];
    for (name, expected) in [("dg2", (vec![], 7)), ("mtl", (vec![HangCause::Unknown], 0))] {
        let gpu = Gpu::new(name);
        gpu.run_on(Copy, &fill).unwrap();
        assert_eq!((causes(&gpu), gpu.target.word(0)), expected, "{name}");
    }
}

#[test]
fn old_generations_skip_their_own_state() {
    // 3DSTATE_LOAD_STATE_IMMEDIATE_1, 3DSTATE_PIXEL_SHADER_PROGRAM, 3DSTATE_SCISSOR_ENABLE, 3DPRIMITIVE with
    // vertices in it and with three indices.
    let commands =
        [(0x7d04_0071, 3), (0x7d05_0105, 0x107), (0x7c80_0002, 1), (0x7f1c_0011, 19), (0x7f9e_0003, 3)];
    let gpu = Gpu::new("i945gm");
    gpu.run_on(Render, &batch(&commands, &[&[0x1040_0001, TARGET, 7]])).unwrap();
    assert_eq!((causes(&gpu), gpu.target.word(0)), (vec![], 7));
    // Graphics 2 stores to physical addresses, which are not simulated.
    let gpu = Gpu::new("i830");
    gpu.run_on(Render, &[0x1040_0001, TARGET, 7, END]).unwrap();
    assert_eq!((causes(&gpu), gpu.target.word(0)), (vec![], 0));
}

#[test]
fn a_second_level_of_haswell_comes_back() {
    let gpu = Gpu::new("hsw");
    gpu.source.put(0, &batch(&[], &[&control("hsw", 1, TARGET, 1)]));
    for (first, expected) in [(0x18c0_0100, 2), (0x1880_0100, 0)] {
        gpu.target.put(0, &[0; 4]);
        // The kernel's parser leaves batches with jumps to the hardware.
        gpu.run_on(Render, &batch(&[], &[&[first, SOURCE], &control("hsw", 1, TARGET + 8, 2)])).unwrap();
        assert_eq!((gpu.target.word(0), gpu.target.word(8)), (1, expected), "{first:x}");
    }
}

#[test]
fn a_batch_of_a_buffers_middle_is_found_after_other_commands() {
    let gpu = Gpu::new("tgl");
    gpu.batch.put(0, &[TRAP; 4]);
    gpu.batch.put(16, &batch(&frame("tgl"), &[&control("tgl", 1, TARGET, 7)]));
    gpu.source.put(0, &[0x1880_0101, BATCH + 16, 0, END]);
    let objects = [
        ExecObject { handle: gpu.target.handle(), access: Access::Write },
        ExecObject { handle: gpu.batch.handle(), access: Access::Read },
    ];
    let addresses = [TARGET.into(), BATCH.into(), SOURCE.into()];
    let run = Run {
        objects: &objects,
        batch: gpu.source.handle(),
        len_bytes: 16,
        engine: Render,
        addresses: Addresses::Pinned(&addresses),
    };
    gpu.device.run(&run).unwrap();
    assert_eq!((causes(&gpu), gpu.target.word(0)), (vec![], 7));
}
