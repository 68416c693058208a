//! Batches of the caller's, and objects at addresses of its own.

use gem_coherency::backend::{Addresses, ExecObject, Relocation, Run};
use gem_coherency::platform::EngineClass;
use gem_coherency::vocabulary::Handle;
use gem_coherency::xe::{Bind, CpuCaching, Create};
use gem_coherency::{Access, CachingMode, Device, Errno, Upload, xe};
use gem_coherency_exercise::{Batch, Region};

use super::{LARGE, OBJECTS, SIZE, alloc, available_bytes, memory_comes_back, refused};

/// An address of the tests'.
const ADDRESS: u64 = 1 << 32;

pub fn batches_run(device: &Device) {
    for mode in [CachingMode::None, CachingMode::Cached] {
        let (from, to) = (alloc(device, mode), alloc(device, mode));
        from.write_bytes(64, b"copied").unwrap();
        let mut batch = Batch::new(device).unwrap();
        batch.copy_range(Region::new(&to, 0), Region::new(&from, 0), SIZE).unwrap();
        batch.fill_range(Region::new(&to, 4096), 4096, 0x7766_5544).unwrap();
        batch.flush().store(&to, 4100, 0x3322_1100).unwrap();
        batch.submit().unwrap().wait(None).unwrap();
        let mut bytes = [0; 8];
        to.read_bytes(64, &mut bytes[..6]).unwrap();
        assert_eq!(&bytes[..6], b"copied", "{mode}");
        to.read_bytes(4096, &mut bytes).unwrap();
        assert_eq!(bytes, [0x44, 0x55, 0x66, 0x77, 0x00, 0x11, 0x22, 0x33], "{mode}");
    }
}

/// Runs an empty batch over an object at [`ADDRESS`].
fn run_over(device: &Device, handle: Handle, engine: EngineClass) -> Result<(), gem_coherency::Error> {
    let batch = alloc(device, CachingMode::Cached);
    batch.upload(0, &[0, 0, 0, 5, 0, 0, 0, 0], Upload::Once)?;
    let objects = [ExecObject { handle, access: Access::Read }];
    let addresses = Addresses::Pinned(&[ADDRESS, ADDRESS + (64 << 20)]);
    let run = Run { objects: &objects, batch: batch.handle(), len_bytes: 8, engine, addresses };
    device.drm().extras()?.run(&run)?;
    batch.wait(None)
}

/// A batch that takes the address of one that was submitted waits for its end.
pub fn batches_take_turns(device: &Device) {
    let extras = device.drm().extras().unwrap();
    let bo = alloc(device, CachingMode::Cached);
    bo.write_bytes(0, &[0; 256]).unwrap();
    let objects = [ExecObject { handle: bo.handle(), access: Access::Write }];
    let addresses = [ADDRESS, ADDRESS + (64 << 20)];
    let batches: Vec<_> = (0..64_u32)
        .map(|number| {
            let batch = alloc(device, CachingMode::Cached);
            // MI_STORE_DATA_IMM, MI_BATCH_BUFFER_END.
            let store =
                [0x20 << 23 | 2, ADDRESS as u32 + 4 * number, (ADDRESS >> 32) as u32, number + 1, 5 << 24, 0];
            let bytes: Vec<_> = store.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
            batch.upload(0, &bytes, Upload::Once).unwrap();
            let len_bytes = bytes.len() as u32;
            let (batch_handle, engine) = (batch.handle(), EngineClass::Copy);
            let addresses = Addresses::Pinned(&addresses);
            extras
                .run(&Run { objects: &objects, batch: batch_handle, len_bytes, engine, addresses })
                .unwrap();
            batch
        })
        .collect();
    batches.iter().for_each(|batch| batch.wait(None).unwrap());
    let mut seen = [0; 256];
    bo.read_bytes(0, &mut seen).unwrap();
    let expected: Vec<_> = (1..=64_u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(seen.as_slice(), expected);
}

pub fn objects_are_bound(device: &Device) {
    let (drm, rules) = (device.drm(), device.xe().unwrap());
    let extras = drm.extras().unwrap();
    let create = Create::new(SIZE, CpuCaching::Wb);
    let object = rules.create(&create).unwrap();
    let new = || extras.create_by(&create).unwrap().handle;
    let (first, second) = (new(), new());
    for index in 0..=rules.pat.entries.len() as u16 {
        let foreseen = rules.bind(&[Bind::map(&object, ADDRESS, index)], false).err();
        let seen = extras.bind(first, ADDRESS, index).err();
        assert_eq!(foreseen.map(|(_, refusal)| refusal.errno), seen.map(|error| error.errno()), "{index}");
    }
    // Bound again by each index; then a batch finds it.
    run_over(device, first, EngineClass::Copy).unwrap();
    // A refused one leaves what is there, and its index.
    let plain = |(_, entry): &(u16, &xe::PatEntry)| !entry.coherency.snoops() && !entry.compressed;
    let (not_snooping, _) = rules.pat.indices().find(plain).unwrap();
    let combining = extras.create_by(&Create::new(SIZE, CpuCaching::Wc)).unwrap().handle;
    extras.bind(combining, ADDRESS, not_snooping).unwrap();
    assert_eq!(extras.bind(first, ADDRESS, not_snooping).unwrap_err().errno(), Errno::EINVAL);
    run_over(device, combining, EngineClass::Copy).unwrap();
    drm.close(combining).unwrap();
    // A part of it gives way to another object.
    extras.bind(first, ADDRESS, rules.pat.own.wb).unwrap();
    extras.bind(second, ADDRESS + SIZE / 2, rules.pat.own.wb).unwrap();
    run_over(device, second, EngineClass::Copy).unwrap();
    drm.close(first).unwrap();
    assert_eq!(extras.bind(first, ADDRESS, rules.pat.own.wb).unwrap_err().errno(), Errno::ENOENT);
    run_over(device, second, EngineClass::Copy).unwrap();
    drm.close(second).unwrap();
    assert_eq!(extras.hangs().unwrap(), 0);
}

pub fn closed_objects_are_unbound(device: &Device) {
    let (drm, memory) = (device.drm(), available_bytes());
    let index = device.xe().unwrap().pat.own.wb;
    // All at once, as the kernel would give the same handle again.
    let held = (0..OBJECTS).map(|number| {
        let handle = drm.create(LARGE).unwrap().handle;
        drm.extras().unwrap().bind(handle, ADDRESS + number * LARGE, index).unwrap();
        handle
    });
    held.collect::<Vec<_>>().into_iter().for_each(|handle| drm.close(handle).unwrap());
    memory_comes_back(memory);
}

pub fn wrong_batches_are_refused(device: &Device) {
    let extras = device.drm().extras().unwrap();
    let bo = alloc(device, CachingMode::Cached);
    for address in [1 << 46, (1 << 46) - 4096, u64::MAX - 4095] {
        let error = extras.bind(bo.handle(), address, 0).unwrap_err();
        assert_eq!(error.errno(), Errno::EINVAL, "{error}");
        assert!(error.to_string().contains(&format!("{address:#x}")), "{error}");
    }
    assert_eq!(extras.bind(bo.handle(), ADDRESS + 1, 0).unwrap_err().errno(), Errno::EINVAL);
    let addresses = Addresses::Relocated(&[Relocation { at: 0, object: 0, delta: 0 }]);
    let batch = bo.handle();
    let run = Run { objects: &[], batch, len_bytes: 8, engine: EngineClass::Copy, addresses };
    refused(extras.run(&run), "relocation");
    let run = Run { addresses: Addresses::Pinned(&[]), ..run };
    assert_eq!(extras.run(&run).unwrap_err().errno(), Errno::EINVAL);
    refused(extras.pread(bo.handle(), 0, &mut [0]), "PREAD");
    refused(extras.create_userptr(4096), "MAP_USERPTR");
    let create = Create { placement: 0, ..Create::new(SIZE, CpuCaching::Wb) };
    assert_eq!(extras.create_by(&create).unwrap_err().errno(), Errno::EINVAL);
}
