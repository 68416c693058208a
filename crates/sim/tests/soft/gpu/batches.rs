//! Batches: what the commands of each generation do to memory, and what goes stale.

use gem_coherency::backend::{Drm, Extras};
use gem_coherency::platform::EngineClass;
use gem_coherency::vocabulary::{Access, CachingMode, MocsClass};
use gem_coherency_sim::{GpuFault, HangCause};

use crate::gpu::{BATCH, END, Gpu, SIZE, SOURCE, TARGET};

/// MI_STORE_DATA_IMM of one dword: 0x20 in bits 28:23, length 2.
const STORE: u32 = 0x1000_0002;

/// A platform's commands, which a test puts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// Graphics 6 and 7: addresses of 32 bits.
    Narrow,
    /// Graphics 8: of 64.
    Wide,
    /// Graphics 9 to 12.1: XY_FAST_COPY_BLT.
    Fast,
    /// Graphics 12.0 and 12.1, too: XY_FAST_COLOR_BLT and XY_BLOCK_COPY_BLT in short.
    ShortBlock,
    /// Graphics 12.5 and later: XY_FAST_COLOR_BLT and XY_BLOCK_COPY_BLT.
    Block,
}
use Dialect::*;

const PLATFORMS: [(&str, Dialect); 12] = [
    ("snb", Narrow),
    ("ivb", Narrow),
    ("hsw", Narrow),
    ("bdw", Wide),
    ("skl", Fast),
    ("glk", Fast),
    ("icl", Fast),
    ("jsl", Fast),
    ("tgl", Fast),
    ("dg1", ShortBlock),
    ("dg2", Block),
    ("mtl", Block),
];

impl Dialect {
    /// A dword to memory.
    fn store(self, address: u32, value: u32) -> Vec<u32> {
        match self {
            // A reserved dword, the address, the data.
            Narrow => vec![STORE, 0, address, value],
            // The address of two dwords, the data.
            Wide | Fast | ShortBlock | Block => vec![STORE, address, 0, value],
        }
    }

    /// The rectangle from column 1, row 1 to column 3, row 3 of 32-bit pixels with 64 bytes a row.
    fn fill(self, address: u32, colour: u32) -> Vec<u32> {
        let (from, to) = (0x1_0001, 0x3_0003);
        match self {
            // Opcode 0x50, all bytes written; 32 bits, operation 0xf0, pitch; corners; address; colour.
            Narrow => vec![0x5430_0004, 0x03f0_0040, from, to, address, colour],
            Wide | Fast => vec![0x5430_0005, 0x03f0_0040, from, to, address, 0, colour],
            // Opcode 0x44, 32 bits; pitch less one; corners; address; offsets; colour; what is compressed.
            ShortBlock => vec![0x5110_0009, 0x3f, from, to, address, 0, 0, colour, 0, 0, 0],
            Block => {
                let mut words = vec![0x5110_000e, 0x3f, from, to, address, 0, 0, colour];
                words.resize(16, 0);
                words
            }
        }
    }

    /// Two rows of 64 pixels of 32 bits, with 4096 bytes a row there and 256 here.
    fn copy(self, to: u32, from: u32) -> Vec<u32> {
        let end = 0x2_0040;
        match self {
            // Opcode 0x53; 32 bits, operation 0xcc, pitch; corners; address; corner, pitch, address there.
            Narrow => vec![0x54f0_0006, 0x03cc_0100, 0, end, to, 0, 0x1000, from],
            Wide => vec![0x54f0_0008, 0x03cc_0100, 0, end, to, 0, 0, 0x1000, from, 0],
            // Opcode 0x42; 32 bits, pitch; the same.
            Fast => vec![0x5080_0008, 0x0300_0100, 0, end, to, 0, 0, 0x1000, from, 0],
            // Opcode 0x41, 32 bits; pitch less one; corners; address; offsets; the same there; sizes.
            ShortBlock => vec![0x5050_000a, 0xff, 0, end, to, 0, 0, 0, 0xfff, from, 0, 0],
            Block => {
                let mut words = vec![0x5050_0014, 0xff, 0, end, to, 0, 0, 0, 0xfff, from, 0, 0];
                words.resize(22, 0);
                words
            }
        }
    }
}

/// The parts in a row, with an end.
fn batch(parts: &[&[u32]]) -> Vec<u32> {
    let mut words = parts.concat();
    words.push(END);
    words
}

#[test]
fn a_store_a_fill_and_a_copy_arrive_on_every_generation() {
    for (name, dialect) in PLATFORMS {
        let gpu = Gpu::new(name);
        gpu.source.put(0, &[0x1111; 64]);
        gpu.source.put(0x1000, &[0x2222; 64]);
        let words = batch(&[
            &dialect.store(TARGET + 0x2004, 0xfeed_f00d),
            &dialect.fill(TARGET + 0x4000, 0xc0ff_ee11),
            &dialect.copy(TARGET, SOURCE),
        ]);
        gpu.run(&words).unwrap();
        let at = |offset| gpu.target.word(offset);
        assert_eq!([at(0x2000), at(0x2004), at(0x2008)], [0, 0xfeed_f00d, 0], "{name}");
        // Row 0 is not in the rectangle; of rows 1 and 2 columns 1 and 2 are.
        assert_eq!([at(0x4004), at(0x4040), at(0x404c)], [0; 3], "{name}");
        assert_eq!([at(0x4044), at(0x4048), at(0x4084), at(0x4088)], [0xc0ff_ee11; 4], "{name}");
        assert_eq!([at(0x40c4), at(0x4000)], [0; 2], "{name}");
        assert_eq!([at(0), at(0xfc), at(0x100), at(0x1fc)], [0x1111, 0x1111, 0x2222, 0x2222], "{name}");
        assert_eq!(at(0x200), 0, "{name}");
        assert_eq!((gpu.device.gpu_hangs(), gpu.device.gpu_faults()), (vec![], vec![]), "{name}");
    }
}

#[test]
fn before_the_copy_engine_a_store_of_a_program_arrives_on_graphics_3_only() {
    // Bit 22: the address is virtual. Graphics 3 has no reserved dword.
    let short: &[u32] = &[0x1040_0001, TARGET + 4, 7];
    let long: &[u32] = &[0x1040_0002, 0, TARGET + 4, 7];
    for (name, store, stored) in
        [("i915g", short, 7), ("i945gm", short, 7), ("i965gm", long, 0), ("gm45", long, 0), ("ilk", long, 0)]
    {
        let gpu = Gpu::new(name);
        for run in 1..=4 {
            gpu.run_on(EngineClass::Render, &batch(&[store])).unwrap();
            assert_eq!((gpu.target.word(4), gpu.device.hangs().unwrap()), (stored, 0), "{name}, run {run}");
        }
        assert_eq!((gpu.device.gpu_hangs(), gpu.device.gpu_faults()), (vec![], vec![]), "{name}");
    }
}

#[test]
fn a_flush_stores_afterwards_and_a_qword_is_two_dwords() {
    for (name, dialect) in PLATFORMS {
        let gpu = Gpu::new(name);
        // MI_FLUSH_DW, operation 1 (bits 15:14); MI_STORE_DATA_IMM with bit 21.
        let words = match dialect {
            Narrow => batch(&[&[0x1300_4002, TARGET + 8, 3, 4], &[0x1020_0003, 0, TARGET + 16, 5, 6]]),
            Wide | Fast | ShortBlock | Block => {
                batch(&[&[0x1300_4003, TARGET + 8, 0, 3, 4], &[0x1020_0003, TARGET + 16, 0, 5, 6]])
            }
        };
        gpu.run(&words).unwrap();
        let seen = [0, 8, 12, 16, 20, 24].map(|offset| gpu.target.word(offset));
        assert_eq!(seen, [0, 3, 4, 5, 6, 0], "{name}");
    }
}

#[test]
fn glk_copies_the_old_bytes_of_what_was_not_flushed_and_the_new_ones_of_what_was() {
    let gpu = Gpu::new("glk");
    gpu.source.put(0, &[0x01d; 64]);
    gpu.source.store(0, &[0x2ee; 64]);
    let words = batch(&[&Fast.copy(TARGET, SOURCE)]);
    gpu.run(&words).unwrap();
    assert_eq!(gpu.target.word(0), 0x01d, "the new bytes are in the CPU's cache");
    gpu.source.flush();
    gpu.run(&words).unwrap();
    assert_eq!(gpu.target.word(0), 0x2ee);
}

#[test]
fn glk_snoops_what_is_cached_and_an_llc_needs_no_flush() {
    for (name, mode) in [("glk", CachingMode::Cached), ("skl", CachingMode::None)] {
        let gpu = Gpu::new(name);
        gpu.device.set_caching(gpu.source.handle(), mode).unwrap();
        gpu.source.store(0, &[0x2ee; 64]);
        gpu.run(&batch(&[&Fast.copy(TARGET, SOURCE)])).unwrap();
        assert_eq!(gpu.target.word(0), 0x2ee, "{name}");
    }
}

#[test]
fn what_glk_writes_is_not_seen_through_a_line_that_the_cpu_kept() {
    let gpu = Gpu::new("glk");
    let map = gpu.device.map(gpu.target.handle(), gem_coherency::vocabulary::MmapMode::Wb, SIZE).unwrap();
    let mut bytes = [0; 4];
    map.copy_out(0, &mut bytes).unwrap();
    gpu.run(&batch(&[&Fast.store(TARGET, 7)])).unwrap();
    map.copy_out(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 4], "stale");
    assert_eq!(gpu.target.word(0), 7);
}

#[test]
fn jsl_copies_through_the_llc_while_its_renderer_can_go_around_it() {
    let gpu = Gpu::new("jsl");
    gpu.source.put(0, &[0x01d; 64]);
    gpu.source.store(0, &[0x2ee; 64]);
    gpu.run(&batch(&[&Fast.copy(TARGET, SOURCE)])).unwrap();
    assert_eq!(gpu.target.word(0), 0x2ee, "no command of the copy engine names a MOCS entry there");
    let mut seen = [0; 4];
    gpu.device.gpu_read(gpu.source.handle(), MocsClass::BypassLlc, 0, &mut seen).unwrap();
    assert_eq!(u32::from_le_bytes(seen), 0x01d);
}

#[test]
fn tgl_copies_blocks_through_entries_16_and_17_as_through_any_other() {
    for entry in [2, 16, 17, 63] {
        let gpu = Gpu::new("tgl");
        gpu.source.put(0, &[0x01d; 64]);
        gpu.source.store(0, &[0x2ee; 64]);
        // XY_BLOCK_COPY_BLT of 32 bits: pitch less one, and the entry above bit 21; one row of 16.
        let mocs = entry << 22;
        let block = [0x5050_000a, mocs | 0x3f, 0, 0x1_0010, TARGET, 0, 0, 0, mocs | 0x3f, SOURCE, 0, 0];
        gpu.run(&batch(&[&block])).unwrap();
        assert_eq!(gpu.target.word(0x3c), 0x2ee, "entry {entry}: it looks into the LLC all the same");
    }
}

#[test]
fn an_unflushed_batch_runs_as_what_memory_holds() {
    // Of glk's engines only the renderer's batches are not read by the kernel.
    let gpu = Gpu::new("glk");
    gpu.run_on(EngineClass::Render, &batch(&[&Fast.store(TARGET, 1)])).unwrap();
    gpu.batch.store(0, &batch(&[&Fast.store(TARGET, 2)]));
    gpu.submit(EngineClass::Render, 6).unwrap();
    assert_eq!(gpu.target.word(0), 1, "the old commands");
    gpu.batch.flush();
    gpu.submit(EngineClass::Render, 6).unwrap();
    assert_eq!(gpu.target.word(0), 2);

    let fresh = Gpu::new("glk");
    fresh.batch.store(0, &batch(&[&Fast.store(TARGET, 2)]));
    fresh.submit(EngineClass::Render, 6).unwrap();
    assert_eq!(fresh.target.word(0), 0);
    let causes: Vec<_> = fresh.device.take_gpu_hangs().iter().map(|hang| hang.cause).collect();
    assert_eq!(causes, [HangCause::Endless], "zeroes have no end");

    let llc = Gpu::new("skl");
    llc.batch.store(0, &batch(&[&Fast.store(TARGET, 2)]));
    llc.submit(EngineClass::Render, 6).unwrap();
    assert_eq!(llc.target.word(0), 2);
}

#[test]
fn the_kernel_reads_a_batch_for_glks_copy_engine_and_that_is_what_runs() {
    let gpu = Gpu::new("glk");
    gpu.run(&batch(&[&Fast.store(TARGET, 1)])).unwrap();
    gpu.batch.store(0, &batch(&[&Fast.store(TARGET, 2)]));
    gpu.submit(EngineClass::Copy, 6).unwrap();
    assert_eq!(gpu.target.word(0), 2, "through the CPU's cache");
    // The copy is nobody's to change: a batch that overwrites its own end comes to it.
    gpu.run(&batch(&[&Fast.store(BATCH + 16, 0), &Fast.store(TARGET, 3)])).unwrap();
    assert_eq!((gpu.target.word(0), gpu.batch.word(16)), (3, 0));
    assert_eq!(gpu.device.gpu_hangs(), []);
}

#[test]
fn batches_jump_and_come_back() {
    // MI_BATCH_BUFFER_START in the own space (bit 8); the second level's (bit 22) comes back.
    let gpu = Gpu::new("tgl");
    gpu.source.put(0, &batch(&[&Fast.store(TARGET, 1)]));
    let second = batch(&[&[0x18c0_0101, SOURCE, 0], &Fast.store(TARGET + 4, 2)]);
    gpu.run(&second).unwrap();
    assert_eq!((gpu.target.word(0), gpu.target.word(4)), (1, 2));
    let chained = batch(&[&[0x1880_0101, SOURCE, 0], &Fast.store(TARGET + 8, 3)]);
    gpu.run(&chained).unwrap();
    assert_eq!(gpu.target.word(8), 0, "what is after a jump is not reached");

    let old = Gpu::new("snb");
    old.source.put(0, &batch(&[&Narrow.store(TARGET, 1)]));
    old.run(&batch(&[&[0x1880_0100, SOURCE]])).unwrap();
    assert_eq!(old.target.word(0), 1);
}

#[test]
fn rectangles_that_are_none_and_surfaces_over_themselves_do_no_harm() {
    let gpu = Gpu::new("bdw");
    gpu.target.put(0, &[1, 2, 3, 4]);
    let copy = |pitch: u32, from: u32, to: u32, source: u32| {
        [0x54f0_0008, 0x03cc_0000 | pitch, from, to, TARGET, 0, 0, pitch, source, 0]
    };
    let words = batch(&[
        // No rows, no columns, the wrong way round, no pitch, a negative one.
        &copy(64, 0, 0, SOURCE),
        &copy(64, 0x3_0003, 0x1_0001, SOURCE),
        &copy(0, 0, 0x1_0000, SOURCE),
        &copy(0xffc0, 0, 0x1_0000, SOURCE),
        // One pixel to the right of itself: from left to right, in one piece.
        &copy(64, 1, 0x1_0004, TARGET),
    ]);
    gpu.run(&words).unwrap();
    assert_eq!([0, 4, 8, 12].map(|offset| gpu.target.word(offset)), [1, 1, 2, 3]);
    assert_eq!(gpu.device.gpu_hangs(), []);
}

#[test]
fn a_run_is_refused_as_its_numbers_would_be() {
    use gem_coherency::Errno;
    use gem_coherency::backend::{Addresses, Relocation, Run};
    #[track_caller]
    fn case(name: &str, engine: EngineClass, addresses: Addresses<'_>, expected: Option<Errno>) {
        let gpu = Gpu::new(name);
        gpu.batch.put(0, &[END, 0]);
        let run = Run { objects: &[], batch: gpu.batch.handle(), len_bytes: 8, engine, addresses };
        assert_eq!(crate::errno(gpu.device.run(&run)), expected, "{name} {addresses:x?}");
    }
    let (ok, einval) = (None, Some(Errno::EINVAL));
    let patch = |at, object| Relocation { at, object, delta: 0 };
    case("tgl", EngineClass::Copy, Addresses::Pinned(&[0x10_0000]), ok);
    case("tgl", EngineClass::Copy, Addresses::Pinned(&[0x10_0800]), einval);
    case("tgl", EngineClass::Copy, Addresses::Pinned(&[]), einval);
    case("tgl", EngineClass::Copy, Addresses::Pinned(&[1 << 48]), einval);
    case("tgl", EngineClass::Compute, Addresses::Relocated(&[]), einval);
    case("snb", EngineClass::VideoEnhance, Addresses::Relocated(&[]), einval);
    case("ilk", EngineClass::Copy, Addresses::Relocated(&[]), einval);
    case("tgl", EngineClass::Copy, Addresses::Relocated(&[patch(64, 0)]), ok);
    case("tgl", EngineClass::Copy, Addresses::Relocated(&[patch(66, 0)]), einval);
    case("tgl", EngineClass::Copy, Addresses::Relocated(&[patch(64, 1)]), Some(Errno::ENOENT));
    case("dg2", EngineClass::Copy, Addresses::Relocated(&[patch(64, 0)]), einval);
}

#[test]
fn what_is_bound_nowhere_reads_as_zeroes_and_loses_what_is_written() {
    let hole = TARGET + SIZE as u32;
    for (name, dialect) in PLATFORMS {
        let gpu = Gpu::new(name);
        gpu.target.put(0, &[7; 128]);
        gpu.run(&batch(&[&dialect.store(hole + 8, 1), &dialect.copy(TARGET, hole)])).unwrap();
        assert_eq!((gpu.target.word(0), gpu.target.word(0x1fc)), (0, 0), "{name}");
        let fault =
            |address: u32, access| GpuFault { address: address.into(), access, engine: EngineClass::Copy };
        let expected =
            [fault(hole + 8, Access::Write), fault(hole, Access::Read), fault(hole + 0x1000, Access::Read)];
        assert_eq!(gpu.device.take_gpu_faults(), expected, "{name}");
        assert_eq!(gpu.device.gpu_faults(), [], "{name}");
        assert_eq!(gpu.device.gpu_hangs(), [], "{name}");
    }
}

#[test]
fn a_range_that_is_bound_in_part_is_split_by_pages() {
    let gpu = Gpu::new("tgl");
    // A row of 64 pixels that begins 64 bytes before the end of the target.
    let row = TARGET + SIZE as u32 - 64;
    let fill = [0x5430_0005, 0x03f0_0100, 0, 0x1_0040, row, 0, 9];
    gpu.run(&batch(&[&fill])).unwrap();
    assert_eq!(gpu.target.word(SIZE - 4), 9);
    let faults = gpu.device.gpu_faults();
    let faults: Vec<_> = faults.iter().map(|fault| (fault.address, fault.access)).collect();
    assert_eq!(faults, [(u64::from(TARGET) + SIZE, Access::Write)]);
}
