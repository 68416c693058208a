//! Batches of the builder: the kernel accepts them, and their commands have the intended effects.
//!
//! The emulated GPU of `crates/vm` decodes commands independently of the builder's tables.

use std::sync::Arc;

use gem_coherency::backend::{Addresses, Drm, ExecObject, Extras, Param, Relocation, Run};
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::platform::{EngineClass, by_id};
use gem_coherency::vocabulary::Access;
use gem_coherency_exercise::commands::{Extent, Field};
use gem_coherency_exercise::{Batch, Region};

use crate::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    test!(stores_fills_and_copies_arrive),
    test!(copies_that_name_mocs_entries_arrive),
    test!(addresses_stay_and_come_back),
    test!(thousands_of_batches_run),
    test!(graphics_4_and_5_ignore_a_store_of_a_program),
];

/// Batches in a row: the smallest ring has room for some 50.
const MANY: u64 = 3000;
/// MI_BATCH_BUFFER_END.
const END: u32 = 0x0500_0000;

/// Returns a pattern that differs in every dword of a page.
pub(super) fn pattern(len: u64, salt: u32) -> Vec<u8> {
    (0..len as u32 / 4).flat_map(|index| (index.wrapping_mul(0x9e37_79b9) ^ salt).to_le_bytes()).collect()
}

/// Returns bytes of a BO.
pub(super) fn bytes(bo: &Bo, offset: u64, len: u64) -> Vec<u8> {
    let mut bytes = vec![0; len as usize];
    bo.read(offset, len).unwrap().read_at(offset, &mut bytes).unwrap();
    bytes
}

/// Returns a BO with the pattern of `salt`.
pub(super) fn filled(device: &Device, len: u64, salt: u32) -> Bo {
    let bo = device.alloc(AllocRequest::new(len)).unwrap();
    let mut write = bo.write(0, len).unwrap();
    write.write_at(0, &pattern(len, salt)).unwrap();
    write.finish();
    bo
}

/// Opens the device.
fn open(bench: &Bench) -> Device {
    Device::from_drm(Arc::new(bench.open())).unwrap()
}

fn stores_fills_and_copies_arrive(bench: &Bench) -> Skip {
    let device = open(bench);
    let (from, to) = (filled(&device, 64 << 10, 1), filled(&device, 64 << 10, 2));
    let mut want = pattern(64 << 10, 2);
    let mut batch = Batch::new(&device).unwrap();
    if batch.dialect().check_store().is_ok() {
        batch.store(&to, 0x1004, 0xdead_beef).unwrap();
        want[0x1004..0x1008].copy_from_slice(&0xdead_beef_u32.to_le_bytes());
    }
    // Three rows of 200 bytes inside of lines, and a row of one pixel.
    let rows = Extent { width: 200, height: 3 };
    batch.fill(Region::new(&to, 0x2014).pitch(512), rows, 0x0403_0201).unwrap();
    for row in 0..3 {
        let start = 0x2014 + 512 * row;
        want[start..start + 200].copy_from_slice(&[1, 2, 3, 4].repeat(50));
    }
    batch.fill(Region::new(&to, 0x3ffc), Extent { width: 4, height: 1 }, 0xffff_ffff).unwrap();
    want[0x3ffc..0x4000].fill(0xff);
    let source = pattern(64 << 10, 1);
    batch.copy(Region::new(&to, 0x4044).pitch(1024), Region::new(&from, 0x88).pitch(512), rows).unwrap();
    for row in 0..3 {
        let (start, first) = (0x4044 + 1024 * row, 0x88 + 512 * row);
        want[start..start + 200].copy_from_slice(&source[first..first + 200]);
    }
    // More than a page, and a partial last row.
    batch.copy_range(Region::new(&to, 0x8010), Region::new(&from, 0x4004), 0x2104).unwrap();
    want[0x8010..0xa114].copy_from_slice(&source[0x4004..0x6108]);
    batch.flush();
    batch.submit().unwrap().wait(None).unwrap();
    let got = bytes(&to, 0, 64 << 10);
    let wrong = got.iter().zip(&want).position(|(got, want)| got != want);
    assert_eq!(wrong, None, "the first wrong byte");
    assert_eq!(bytes(&from, 0, 64 << 10), source, "what is read stays as it was");
    None
}

/// Runs the same commands as on the software i915 (`crates/sim/tests/soft/gpu/batches.rs`).
fn graphics_4_and_5_ignore_a_store_of_a_program(bench: &Bench) -> Skip {
    let drm = bench.open();
    let graphics = by_id(drm.param(Param::ChipsetId).unwrap() as u16).unwrap().graphics.major;
    if !(4..=5).contains(&graphics) {
        return Some("only graphics 4 and 5 distinguish secure batches in this way".to_owned());
    }
    let make = || drm.create(4096).unwrap().handle;
    let (target, batch) = (make(), make());
    let words = [0x1040_0002, 0, 0, 7, END, 0_u32];
    let commands: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    drm.pwrite(batch, 0, &commands).unwrap();
    let relocations = [Relocation { at: 8, object: 0, delta: 4 }];
    drm.run(&Run {
        objects: &[ExecObject { handle: target, access: Access::Write }],
        batch,
        len_bytes: commands.len() as u32,
        engine: EngineClass::Render,
        addresses: Addresses::Relocated(&relocations),
    })
    .unwrap();
    drm.wait(batch, -1).unwrap();
    let mut bytes = [0; 12];
    drm.pread(target, 0, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 12]);
    assert_eq!(drm.hangs().unwrap(), 0);
    None
}

fn copies_that_name_mocs_entries_arrive(bench: &Bench) -> Skip {
    let device = open(bench);
    if !Batch::new(&device).unwrap().names_mocs(Field::Copy) {
        return Some("no command of this generation names a MOCS entry".to_owned());
    }
    let source = pattern(8192, 3);
    for entry in [0, 2, 3, 5, 16, 17, 48, 61] {
        let (from, to) = (filled(&device, 8192, 3), filled(&device, 8192, 4));
        let mut batch = Batch::new(&device).unwrap();
        let from = Region::new(&from, 0x104).mocs(entry);
        batch.copy_range(Region::new(&to, 0x1008), from, 0xf00).unwrap();
        batch.submit().unwrap().wait(None).unwrap();
        assert_eq!(bytes(&to, 0x1008, 0xf00), source[0x104..0x1004], "entry {entry}");
    }
    None
}

fn addresses_stay_and_come_back(bench: &Bench) -> Skip {
    let device = open(bench);
    let kept = filled(&device, 4096, 5);
    for round in 0..20_u32 {
        // Other BOs are allocated and freed at other addresses.
        let others: Vec<_> = (0..round % 5 + 1).map(|one| filled(&device, 4096 << (one % 3), one)).collect();
        let mut batch = Batch::new(&device).unwrap();
        for (number, other) in (0..).zip(&others) {
            batch.copy_range(Region::new(&kept, 64 * number), Region::new(other, 64), 64).unwrap();
        }
        batch.submit().unwrap().wait(None).unwrap();
        for (number, _) in (0..).zip(&others) {
            assert_eq!(bytes(&kept, 64 * number, 64), pattern(128, number as u32)[64..], "round {round}");
        }
    }
    None
}

/// The rings wrap, numbers of requests grow, and heartbeats fall in between. The first half of the batches is waited for one
/// by one.
fn thousands_of_batches_run(bench: &Bench) -> Skip {
    let node = Arc::new(bench.open());
    let device = Device::from_drm(node.clone()).unwrap();
    let (from, to) = (filled(&device, 64 << 10, 6), filled(&device, 64 << 10, 7));
    let (source, mut want) = (pattern(64 << 10, 6), pattern(64 << 10, 7));
    for number in 0..MANY {
        // Dwords that lie apart, each once.
        let at = number * 20 % (64 << 10);
        let mut batch = Batch::new(&device).unwrap();
        batch.copy_range(Region::new(&to, at), Region::new(&from, at), 4).unwrap();
        let submitted = batch.submit().unwrap();
        if number < MANY / 2 || number % 100 == 0 {
            submitted.wait(None).unwrap();
        }
        let bytes = at as usize..at as usize + 4;
        want[bytes.clone()].copy_from_slice(&source[bytes]);
    }
    assert_eq!(bytes(&to, 0, 64 << 10), want);
    assert_eq!(node.hangs().unwrap(), 0);
    None
}
