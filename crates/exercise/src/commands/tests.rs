//! Tests the encoding of every generation's commands, bit by bit.

use super::*;
use crate::Error;
use gem_coherency::platform::{self, Caps};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe;

fn builder(platform: &str) -> Builder {
    let machine = platform::by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false);
    Builder::new(&machine).unwrap()
}

fn rows(buffer: u32, offset: u64) -> Surface {
    Surface { buffer, offset, pitch: 256, mocs: None, memory: Memory::System }
}

const EXTENT: Extent = Extent { width: 128, height: 2 };
/// The addresses of the tests' buffers.
const ADDRESSES: [u64; 2] = [0x7_0001_0000, 0x7_0002_0000];

/// Checks the encoding of one command with buffers at [`ADDRESSES`], and the end of the batch.
#[track_caller]
fn case(platforms: &[&str], write: impl Fn(&mut Builder) -> Result<(), Error>, want: &[u32]) {
    for platform in platforms {
        let mut builder = builder(platform);
        write(&mut builder).unwrap();
        let mut want = want.to_vec();
        want.push(0x0500_0000);
        want.resize(want.len().next_multiple_of(2), 0);
        assert_eq!(hex(builder.finish().at(&ADDRESSES).words()), hex(&want), "{platform}");
    }
}

fn hex(words: &[u32]) -> Vec<String> {
    words.iter().map(|word| format!("{word:08x}")).collect()
}

/// Platforms without a copy engine.
const GEN2: &[&str] = &["i830", "i845g", "i85x", "i865g"];
const I915: &[&str] = &["i915g", "i915gm"];
const GEN3: &[&str] = &["i945g", "i945gm", "g33", "pnv"];
const GEN4_TO_5: &[&str] = &["i965g", "i965gm", "g45", "gm45", "ilk"];
const BEFORE_COPY_ENGINE: [&[&str]; 4] = [GEN2, I915, GEN3, GEN4_TO_5];
const NARROW: &[&str] = &["snb", "ivb", "vlv", "hsw"];
const GEN8: &[&str] = &["bdw", "chv"];
const GEN9_TO_11: &[&str] = &["skl", "glk", "icl", "jsl", "dg1"];
const GEN12: &[&str] = &["tgl", "rkl", "adls", "adlp"];

#[test]
fn a_store_has_four_dwords_whatever_the_width_of_addresses_but_three_on_graphics_3() {
    let store = |builder: &mut Builder| builder.store(1, 0x40, 0x1234_5678);
    case(GEN3, store, &[0x1040_0001, 0x0002_0040, 0x1234_5678]);
    case(NARROW, store, &[0x1000_0002, 0, 0x0002_0040, 0x1234_5678]);
    for wide in [GEN8, GEN9_TO_11, GEN12, &["dg2", "mtl"]] {
        case(wide, store, &[0x1000_0002, 0x0002_0040, 7, 0x1234_5678]);
    }
}

#[test]
fn a_store_is_refused_where_hardware_would_not_store_to_the_address() {
    for platforms in [GEN2, I915, GEN4_TO_5] {
        for platform in platforms {
            let mut builder = builder(platform);
            let error = builder.store(1, 0x40, 7).unwrap_err();
            assert!(error.to_string().contains(&format!("not available on {platform}")), "{error}");
            assert_eq!(builder.dialect().check_store(), Err(error));
            assert_eq!(builder.finish().words(), [0x0500_0000, 0], "{platform}");
        }
    }
    for platform in platform::all().iter().filter(|platform| platform.graphics.major >= 6) {
        assert_eq!(builder(platform.name).dialect().check_store(), Ok(()), "{platform}");
    }
}

#[test]
fn a_fill_starts_at_an_aligned_base_and_leaves_the_rest_to_the_corner() {
    // An offset of 0x84 is two lines plus one pixel.
    let fill = |builder: &mut Builder| builder.fill(rows(0, 0x84), EXTENT, 0xa5);
    for narrow in BEFORE_COPY_ENGINE.into_iter().chain([NARROW]) {
        case(narrow, fill, &[0x5430_0004, 0x03f0_0100, 1, 0x0002_0021, 0x0001_0080, 0xa5]);
    }
    for wide in [GEN8, GEN9_TO_11, GEN12] {
        case(wide, fill, &[0x5430_0005, 0x03f0_0100, 1, 0x0002_0021, 0x0001_0080, 7, 0xa5]);
    }
    let fast = |mocs: u32| {
        let control = mocs << 22 | 0xff;
        let surface = 1 << 29 | 32 << 14 | 1;
        let memory = 1 << 31;
        [0x5110_000e, control, 1, 0x0002_0021, 0x0001_0080, 7, memory, 0xa5, 0, 0, 0, 0, 0, surface, 0, 0]
    };
    case(&["dg2", "atsm"], fill, &fast(1));
    case(&["mtl"], fill, &fast(9));
}

#[test]
fn a_copy_is_the_command_of_its_generation() {
    let copy = |builder: &mut Builder| builder.copy(rows(1, 0x40), rows(0, 0x88), EXTENT);
    for narrow in BEFORE_COPY_ENGINE.into_iter().chain([NARROW]) {
        case(narrow, copy, &[0x54f0_0006, 0x03cc_0100, 0, 0x0002_0020, 0x0002_0040, 2, 0x100, 0x0001_0080]);
    }
    case(GEN8, copy, &[0x54f0_0008, 0x03cc_0100, 0, 0x0002_0020, 0x0002_0040, 7, 2, 0x100, 0x0001_0080, 7]);
    for fast in [GEN9_TO_11, GEN12] {
        case(
            fast,
            copy,
            &[0x5080_0008, 0x0300_0100, 0, 0x0002_0020, 0x0002_0040, 7, 2, 0x100, 0x0001_0080, 7],
        );
    }
}

#[test]
fn a_copy_that_names_mocs_entries_is_a_block_copy() {
    let named = |mocs| Surface { mocs: Some(mocs), ..rows(0, 0x88) };
    let copy = |builder: &mut Builder| builder.copy(rows(1, 0x40), named(16), EXTENT);
    let control = |mocs: u32| mocs << 22 | 0xff;
    let memory = 1 << 31;
    let twelve = |to: u32, from: u32, length: u32| {
        let corner = 0x0002_0020;
        let to = [control(to), 0, corner, 0x0002_0040, 7, memory];
        let from = [2, control(from), 0x0001_0080, 7, memory];
        [vec![0x5050_0000 | length], to.to_vec(), from.to_vec()].concat()
    };
    case(GEN12, copy, &twelve(2, 16, 10));
    let size = |pixels: u32| 1 << 29 | (pixels - 1) << 14 | 1;
    let sizes = [0, 0, 0, 0, size(32), 0, 0, size(34), 0, 0];
    case(&["dg2"], copy, &[twelve(1, 16, 20), sizes.to_vec()].concat());
    case(&["mtl"], copy, &[twelve(9, 16, 20), sizes.to_vec()].concat());
}

#[test]
fn the_block_commands_of_a_discrete_device_say_where_a_buffer_lives() {
    let local = Surface { memory: Memory::Local, ..rows(1, 0) };
    let words = |write: &dyn Fn(&mut Builder)| {
        let mut builder = builder("dg2");
        write(&mut builder);
        builder.finish().words().to_vec()
    };
    for (to, from) in [(rows(0, 0), local), (local, rows(0, 0)), (local, local)] {
        let copied = words(&|builder| builder.copy(to, from, EXTENT).unwrap());
        let filled = words(&|builder| builder.fill(to, EXTENT, 0).unwrap());
        let system = |surface: Surface| u32::from(surface.memory == Memory::System) << 31;
        assert_eq!([copied[6], copied[11], filled[6]], [system(to), system(from), system(to)]);
    }
}

/// xe's own words: `emit_xy_fast_copy`, and `emit_clear_main_copy` of `xe_migrate.c`.
#[test]
fn xe2_names_its_uncached_mocs_entry_in_four_bits() {
    for (platform, kernel) in [("lnl", (6, 12)), ("ptl", (7, 2)), ("bmg", (7, 2))] {
        let device = xe::device(platform, KernelVersion::new(kernel.0, kernel.1)).unwrap();
        let mut builder = Builder::new(&device.machine()).unwrap();
        assert!(!builder.dialect().names_mocs(Field::Copy) && !builder.dialect().names_mocs(Field::Fill));
        builder.copy(rows(0, 0), rows(1, 0), EXTENT).unwrap();
        builder.fill(rows(0, 0), EXTENT, 7).unwrap();
        let words = builder.finish().at(&ADDRESSES);
        let copy = [
            2 << 29 | 0x42 << 22 | 8,
            3 << 24 | 256 | 3 << 20,
            0,
            2 << 16 | 32,
            0x0001_0000,
            7,
            0,
            256 | 3 << 20,
            0x0002_0000,
            7,
        ];
        let fill = [2 << 29 | 0x44 << 22 | 2 << 19 | 14, 3 << 24 | 255, 0, 2 << 16 | 32, 0x0001_0000, 7];
        assert_eq!(hex(&words.words()[..16]), hex(&[copy.as_slice(), &fill].concat()), "{platform}");
    }
}

#[test]
fn the_flush_and_the_end_are_padded_to_whole_pairs_of_dwords() {
    let flush = |builder: &mut Builder| {
        builder.flush();
        Ok(())
    };
    for early in BEFORE_COPY_ENGINE {
        case(early, flush, &[0x0200_0000]);
    }
    case(NARROW, flush, &[0x1300_0001, 0, 0]);
    case(GEN8, flush, &[0x1300_0002, 0, 0, 0]);
    for platform in NARROW.iter().chain(GEN12) {
        assert_eq!(builder(platform).finish().words(), [0x0500_0000, 0], "{platform}");
    }
}

#[test]
fn patches_say_where_whose_address_goes() {
    let mut builder = builder("ivb");
    builder.copy(rows(1, 0x40), rows(0, 0x88), EXTENT).unwrap();
    let batch = builder.finish();
    let want = [Patch { word: 4, buffer: 1, delta: 0x40 }, Patch { word: 7, buffer: 0, delta: 0x80 }];
    assert_eq!(batch.patches(), want);
    assert_eq!((batch.words()[4], batch.words()[7]), (0x40, 0x80), "what the kernel adds the address to");
    assert_eq!(batch.to_bytes().len(), 4 * batch.words().len());
}

#[test]
fn what_a_command_cannot_say_is_refused_by_name() {
    let mut jsl = builder("jsl");
    let named = Surface { mocs: Some(16), ..rows(0, 0) };
    let refused = |done: Result<(), Error>| match done {
        Err(Error::NotEncodable { what, value, .. }) => (what, value),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(jsl.copy(rows(1, 0), named, EXTENT)), ("MOCS entry", 16));
    assert_eq!(refused(jsl.fill(named, EXTENT, 0)), ("MOCS entry", 16));
    assert_eq!(refused(jsl.store(0, 6, 0)), ("offset", 6));
    assert_eq!(refused(jsl.fill(rows(0, 3), EXTENT, 0)), ("offset", 3));
    for pitch in [0, 60, 64, 32768, u32::MAX] {
        let rows = Surface { pitch, ..rows(0, 0) };
        assert_eq!(refused(jsl.fill(rows, EXTENT, 0)), ("pitch", pitch.into()));
    }
    for width in [0, 3, 65536, u32::MAX - 3] {
        assert_eq!(refused(jsl.fill(rows(0, 0), Extent { width, height: 1 }, 0)), ("width", width.into()));
    }
    for height in [0, 16384] {
        assert_eq!(refused(jsl.fill(rows(0, 0), Extent { width: 4, height }, 0)), ("height", height.into()));
    }
    let mut tgl = builder("tgl");
    let beyond = Surface { mocs: Some(64), ..rows(0, 0) };
    assert_eq!(refused(tgl.copy(rows(1, 0), beyond, EXTENT)), ("MOCS entry", 64));
    assert_eq!(jsl.finish().words(), [0x0500_0000, 0], "nothing was written of what was refused");
}

#[test]
fn every_platform_has_an_engine_for_the_batch_and_an_unknown_one_has_none() {
    for platform in platform::all() {
        let machine = platform.machine(KernelVersion::new(6, 12), false);
        let engine = Builder::new(&machine).unwrap().finish().engine();
        let copies = machine.engines("gt0").any(|there| there.class == EngineClass::Copy);
        assert_eq!(engine, if copies { EngineClass::Copy } else { EngineClass::Render }, "{platform}");
        assert!(!machine.caps.contains(Caps::DISCRETE) || platform.graphics.major >= 12);
    }
    let unknown = platform::CONSERVATIVE.machine(KernelVersion::new(6, 12), false);
    let error = Builder::new(&unknown).unwrap_err();
    assert!(matches!(error, Error::Library(gem_coherency::Error::NotAvailable { .. })), "{error}");
}
