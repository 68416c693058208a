//! Shaders on the render engine: the kernel driver accepts their batches, and they read and write what they should.
//!
//! The emulated GPU of `crates/vm` decodes commands and instructions independently of the builder and of `intel-eu`.

use std::sync::Arc;

use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::Access;
use gem_coherency_exercise::commands::shaders::{self, COPY_BYTES, SCATTER_STORES};
use gem_coherency_exercise::{Error, Region, Walker};

use crate::gpu::batches::{bytes, filled, pattern};
use crate::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] =
    &[test!(a_shader_copies_by_every_mocs_entry), test!(a_shader_stores_where_a_table_says)];

const SIZE: u64 = 8192;

/// Opens the device, and returns a shader for it; fails if there is none.
fn open(
    bench: &Bench,
    shader: impl Fn(&Device) -> Result<Vec<u8>, Error>,
) -> Result<(Device, Vec<u8>), String> {
    let device = Device::from_drm(Arc::new(bench.open())).unwrap();
    match shader(&device) {
        Ok(shader) => Ok((device, shader)),
        Err(error @ Error::Library(gem_coherency::Error::NotAvailable { .. })) => {
            let graphics = device.machine().platform.graphics.major;
            assert!(graphics < 8, "{error}");
            Err(error.to_string())
        }
        Err(error) => panic!("{error}"),
    }
}

fn run(device: &Device, shader: &[u8], from: Region<'_>, to: &Bo, groups: u64) {
    let mut walker = Walker::new(device, shader).unwrap();
    walker.surface(from, SIZE, Access::Read).unwrap();
    walker.surface(Region::new(to, 0), SIZE, Access::Write).unwrap();
    walker.submit(groups as u32).unwrap().wait(None).unwrap();
}

fn a_shader_copies_by_every_mocs_entry(bench: &Bench) -> Skip {
    let (device, shader) = match open(bench, |device| shaders::copy(device.machine())) {
        Ok(opened) => opened,
        Err(why) => return Some(why),
    };
    let graphics = device.machine().platform.graphics.major;
    // Entries where there are any, and before graphics 9 control bits: write-back, write-through, uncached.
    let entries: &[u8] = match graphics {
        ..=7 => &[0, 1, 5],
        8 => &[0x18, 0x78, 0x58, 0x38],
        _ => &[1, 2, 3, 5, 16, 17, 48, 61],
    };
    let from = filled(&device, SIZE, 1);
    for entry in entries.iter().map(|&entry| Some(entry)).chain([None]) {
        let to = filled(&device, SIZE, 2);
        let region = Region::new(&from, 0);
        // All groups but the last copy.
        let groups = SIZE / COPY_BYTES - 1;
        run(&device, &shader, entry.map_or(region, |entry| region.mocs(entry)), &to, groups);
        let copied = groups * COPY_BYTES;
        assert!(bytes(&to, 0, copied) == pattern(SIZE, 1)[..copied as usize], "entry {entry:?}");
        assert!(bytes(&to, copied, COPY_BYTES) == pattern(SIZE, 2)[copied as usize..], "entry {entry:?}");
    }
    None
}

fn a_shader_stores_where_a_table_says(bench: &Bench) -> Skip {
    let (device, shader) = match open(bench, |device| shaders::scatter(device.machine())) {
        Ok(opened) => opened,
        Err(why) => return Some(why),
    };
    let (table, to) = (device.alloc(AllocRequest::new(SIZE)).unwrap(), filled(&device, SIZE, 3));
    let mut want = pattern(SIZE, 3);
    // Stores of two groups, of which the last ones are after the end.
    let stores: Vec<(u32, u32)> =
        (0..30).map(|number| (number * 0x10c, 0x0101_0101 * (number + 1))).collect();
    let mut write = table.write(0, 2 * COPY_BYTES).unwrap();
    for (number, group) in (0..).zip(stores.chunks(SCATTER_STORES)) {
        for lane in 0..SCATTER_STORES {
            let (offset, value) = group.get(lane).copied().unwrap_or((SIZE as u32, 0));
            let at = number * COPY_BYTES + 4 * lane as u64;
            write.write_at(at, &offset.to_le_bytes()).unwrap();
            write.write_at(at + COPY_BYTES / 2, &value.to_le_bytes()).unwrap();
        }
    }
    write.finish();
    for (offset, value) in stores {
        want[offset as usize..][..4].copy_from_slice(&value.to_le_bytes());
    }
    run(&device, &shader, Region::new(&table, 0), &to, 2);
    assert!(bytes(&to, 0, SIZE) == want);
    None
}
