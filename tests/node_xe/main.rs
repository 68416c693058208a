//! An open xe file, on the real driver: the library's calls, and what the kernel refuses.
//!
//! The tests run on the first node of xe in /dev/dri. Without one each is skipped; skips are printed and counted.

mod batches;
#[path = "../node_real/foreign_objects.rs"]
#[expect(dead_code, reason = "objects of a process's memory are i915's")]
mod foreign_objects;
mod mappings;

use std::fs::{self, File};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use gem_coherency::backend::node;
use gem_coherency::device::{AdoptRequest, Contents};
use gem_coherency::object::FlushOwner;
use gem_coherency::platform::{Driver, Machine};
use gem_coherency::vocabulary::{CacheLevel, Handle};
use gem_coherency::{
    Access, AllocRequest, Bo, CachingMode, Device, Errno, Error, MmapMode, MocsClass, Submission, Upload,
    Verdict, xe,
};
use gem_coherency_exercise::Screen;

const SIZE: u64 = 64 << 10;

/// A test: its claim, and its function.
type Test = (&'static str, fn(&Device));

const TESTS: &[Test] = &[
    ("the device has the rules of xe", the_device_has_the_rules_of_xe),
    ("each caching mode has its mapping, and no other", each_caching_mode_has_its_mapping),
    ("stores are drained before a batch, and lines are never flushed", stores_are_drained),
    ("bytes are there after a submission", bytes_are_there),
    ("the program of the README runs, by the device's name alone", the_program_of_the_readme_runs),
    ("streams and uploads are drained once", streams_and_uploads_are_drained),
    ("the zeroes of a cached object are flushed for the display alone", zeroes_are_flushed_for_the_display),
    ("a dumb buffer is an object that can be shown", dumb_buffers_can_be_shown),
    ("a wait ends, and an idle object is not busy", a_wait_ends),
    ("requests of i915 are refused with a reason, and are not made", requests_of_i915_are_refused),
    ("an import of the device's own object keeps its caching", an_import_keeps_its_caching),
    ("a closed object is unbound, and its memory is free", closed_objects_are_unbound),
    ("an object is reused by its caching", objects_are_reused),
    ("an object of the caller's is tracked by its mapping", adopted_objects_are_tracked),
    ("an object of the caller's is forgotten with its BO", adopted_objects_are_forgotten),
    ("an object with several mappings gets what any of them requires", mappings::are_joined),
    ("a mapping that the kernel would refuse is refused, and changes nothing", mappings::are_refused),
    ("the barrier page is there where the rules say so, and only there", the_barrier_page_is_there),
    ("what the caller's own batches use is never reused", objects_of_own_batches_are_not_reused),
    ("a node of the caller's file leaves nothing behind in it", nothing_is_left_in_the_callers_file),
    ("batches of the caller's store, fill and copy", batches::batches_run),
    ("batches take turns at one address", batches::batches_take_turns),
    ("the caller binds objects at addresses of its own, by each index", batches::objects_are_bound),
    ("a closed object is unbound from the caller's addresses", batches::closed_objects_are_unbound),
    ("wrong addresses and requests of i915 are refused", batches::wrong_batches_are_refused),
];

/// A test with an object of vgem.
const OF_VGEM: &[Test] = &[(
    "another driver's object is bound by an index that snoops, and not mapped",
    foreign_objects_are_not_mapped,
)];

/// Tests of local memory: where all memory is the machine's, what does not fit is swapped out.
const OF_LOCAL_MEMORY: &[Test] =
    &[("a batch runs although all that was bound before does not fit with it", others_are_unbound)];

/// Tests of displays.
const OF_DISPLAYS: &[Test] =
    &[("an object becomes a framebuffer before it is bound, or has SCANOUT", framebuffers_are_not_bound)];

/// Tests of displays by CRCs, which debugfs has.
const OF_CRCS: &[Test] = &[
    ("a screen shows what was written, in each caching mode", pictures_are_shown),
    ("a new object is shown as zeroes, in each caching mode", zeroes_are_shown),
];

fn main() -> ExitCode {
    let found = node::find();
    let device = found.nodes.iter().find_map(|path| {
        let device = Device::open(path.to_str()?).ok()?;
        device.xe().map(|_| device)
    });
    let Some(device) = device else {
        let all: usize =
            [TESTS, OF_VGEM, OF_LOCAL_MEMORY, OF_DISPLAYS, OF_CRCS].iter().map(|list| list.len()).sum();
        println!("0 passed, 0 failed, {all} skipped: no node of xe in /dev/dri ({:?})", found.others);
        return ExitCode::SUCCESS;
    };
    println!("{}: {}", device.drm().name(), device.machine().platform.title);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let of_local_memory = (OF_LOCAL_MEMORY, (!is_discrete(device.machine())).then_some("no local memory"));
    let no_display = Screen::open(&primary()).is_err().then_some("no display");
    // Under `gemtool sim` there is no other driver, and no debugfs of a display.
    let soft = std::env::args().any(|word| word == "--soft").then_some("not on a software device");
    let (of_vgem, of_crcs) = ((OF_VGEM, soft), (OF_CRCS, no_display.or(soft)));
    let lists = [(TESTS, None), of_vgem, of_local_memory, (OF_DISPLAYS, no_display), of_crcs];
    let all = lists.iter().flat_map(|(tests, why)| tests.iter().map(move |test| (test, why)));
    for ((claim, test), why) in all {
        if let Some(why) = why {
            println!("skipped {claim}: {why}");
            skipped += 1;
        } else if catch_unwind(AssertUnwindSafe(|| test(&device))).is_ok() {
            println!("ok      {claim}");
            passed += 1;
        } else {
            println!("FAILED  {claim}");
            failed += 1;
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn alloc(device: &Device, mode: CachingMode) -> Bo {
    device.alloc(AllocRequest::new(SIZE).caching(mode)).unwrap()
}

fn is_discrete(machine: &Machine) -> bool {
    machine.platform.local_page_bytes.is_some()
}

/// The mode of the mapping of an object of `mode`.
fn mapping(device: &Device, mode: CachingMode) -> MmapMode {
    match mode {
        _ if is_discrete(device.machine()) => MmapMode::Fixed,
        CachingMode::Cached => MmapMode::Wb,
        CachingMode::None | CachingMode::Display => MmapMode::Wc,
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, part: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.errno(), Errno::ENODEV, "{error}");
    assert!(matches!(error, Error::NotAvailable { .. }), "{error:?}");
    assert!(error.to_string().contains(part), "{error}");
}

fn the_device_has_the_rules_of_xe(device: &Device) {
    let rules = device.xe().unwrap();
    let machine = device.machine();
    assert_eq!((machine.driver, machine.platform.name), (Driver::Xe, rules.platform.name()));
    assert_eq!(device.version().unwrap().name, "xe");
    let quirks: Vec<_> = device.quirks().iter().map(|quirk| quirk.name).collect();
    assert_eq!(quirks, ["caching-at-creation", "waits-of-its-own", "foreign-not-mapped"]);
    let regions = device.memory_regions().unwrap();
    assert_eq!(regions.len(), if is_discrete(machine) { 2 } else { 1 });
    assert!(regions.iter().all(|region| region.probed_bytes > 0));
}

fn each_caching_mode_has_its_mapping(device: &Device) {
    for (mode, level) in [
        (CachingMode::None, CacheLevel::None),
        (CachingMode::Cached, CacheLevel::Llc),
        (CachingMode::Display, CacheLevel::None),
    ] {
        let bo = alloc(device, mode);
        assert_eq!((bo.level(), device.drm().caching(bo.handle()).unwrap()), (level, mode));
        let has = mapping(device, mode);
        bo.map(has).unwrap();
        for &other in MmapMode::ALL.iter().filter(|&&other| other != has) {
            refused(bo.map(other), "xe maps an object");
        }
    }
}

fn stores_are_drained(device: &Device) {
    for (mode, verdict) in [(CachingMode::None, Verdict::Drain), (CachingMode::Cached, Verdict::NotNeeded)] {
        let bo = alloc(device, mode);
        bo.write_bytes(4076, &[0xa5; 100]).unwrap();
        let read = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
        let report = device.submit(&[read]).unwrap().remove(0);
        assert_eq!((report.decision.verdict, report.lines), (verdict, 0), "{mode}: {report:?}");
        let again = device.submit(&[read]).unwrap().remove(0);
        assert_eq!(again.decision.verdict, Verdict::NotNeeded, "{again:?}");
    }
}

fn bytes_are_there(device: &Device) {
    for mode in [CachingMode::None, CachingMode::Cached] {
        let bo = alloc(device, mode);
        let mut bytes = [1; 100];
        bo.read_bytes(4076, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 100], "a new object has zeroes");
        bo.write_bytes(4076, &[0xa5; 100]).unwrap();
        device.submit(&[Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
        let report = bo.read_bytes(4076, &mut bytes).unwrap();
        assert_eq!(
            (report.lines, bytes),
            (0, [0xa5; 100]),
            "the batch was empty, and nothing is invalidated"
        );
    }
}

fn the_program_of_the_readme_runs(device: &Device) {
    let device = Device::open(device.drm().name()).unwrap();
    let bo = device.alloc(AllocRequest::new(SIZE).caching(CachingMode::Cached)).unwrap();
    bo.write_bytes(4076, &[0xa5; 100]).unwrap();
    // No batch reads around the LLC by its MOCS there.
    let read = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::BypassLlc };
    let lines = device.submit_with(&[read], |reports| Ok(reports[0].lines)).unwrap();
    assert_eq!(lines, 0);
}

fn streams_and_uploads_are_drained(device: &Device) {
    for (mode, verdict) in [(CachingMode::None, Verdict::Drain), (CachingMode::Cached, Verdict::NotNeeded)] {
        let bo = alloc(device, mode);
        let mut stream = bo.stream(0, SIZE).unwrap();
        stream.write(&[1; 100]).unwrap();
        stream.write(&[2; 100]).unwrap();
        stream.finish();
        bo.upload(200, &[3; 100], Upload::Once).unwrap();
        let read = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
        let report = device.submit(&[read]).unwrap().remove(0);
        assert_eq!((report.decision.verdict, report.lines), (verdict, 0), "{mode}: {report:?}");
        let mut bytes = [0; 300];
        bo.read_bytes(0, &mut bytes).unwrap();
        assert!(bytes.chunks(100).eq([[1; 100], [2; 100], [3; 100]].iter()), "{mode}");
    }
}

fn zeroes_are_flushed_for_the_display(device: &Device) {
    let (drm, rules) = (device.drm(), device.xe().unwrap());
    for (mode, lines) in [(CachingMode::None, 0), (CachingMode::Cached, SIZE / 64), (CachingMode::Display, 0)]
    {
        let choice = rules.choose_mode(mode, SIZE).unwrap();
        let object = rules.create(&choice.create.unwrap()).unwrap();
        let handle = drm.create_cached(SIZE, mode).unwrap().handle;
        let adopt = AdoptRequest::new(handle, SIZE).bound(object, choice.pat_index).contents(Contents::New);
        for bo in [alloc(device, mode), device.adopt(adopt).unwrap()] {
            let read = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
            let report = device.submit_with(&[read], |reports| Ok(reports[0])).unwrap();
            assert_eq!((report.decision.verdict, report.lines), (Verdict::NotNeeded, 0), "{mode}");
            match bo.prepare_scanout() {
                // System memory of a discrete device.
                Err(Error::NotAvailable { .. })
                    if is_discrete(device.machine()) && mode == CachingMode::Cached => {}
                shown => assert_eq!(shown.unwrap().report().lines, lines, "{mode}"),
            }
            if let Ok(again) = bo.prepare_scanout() {
                assert_eq!(again.report().lines, 0, "{mode}");
            }
        }
        drm.close(handle).unwrap();
    }
}

/// The primary node of the device of xe. CREATE_DUMB is not for render nodes.
fn primary() -> Device {
    let found = node::find();
    let mut primary = found.nodes.iter().filter(|path| path.to_string_lossy().contains("card"));
    primary.find_map(|path| Device::open(path.to_str()?).ok().filter(|node| node.xe().is_some())).unwrap()
}

fn dumb_buffers_can_be_shown(_: &Device) {
    let device = primary();
    let before = device.open_counts();
    let bo = device.alloc_dumb(100, 100).unwrap();
    let caching = device.drm().caching(bo.handle()).unwrap();
    assert_eq!((bo.level(), caching), (CacheLevel::None, CachingMode::Display));
    assert_eq!(device.open_counts().handles, before.handles + 1);
    bo.map(mapping(&device, CachingMode::Display)).unwrap();
    bo.write_bytes(4076, &[0xa5; 100]).unwrap();
    let shown = bo.prepare_scanout().unwrap();
    assert_eq!((shown.report().decision.verdict, shown.report().lines), (Verdict::Drain, 0));
    drop(shown);
    assert_eq!(bo.level(), CacheLevel::None);
    device.submit(&[Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
    bo.wait(None).unwrap();
    drop(bo);
    assert_eq!(device.open_counts(), before);
}

/// The caching modes that the display shows. A discrete device's system memory is refused.
fn shown_modes(device: &Device) -> Vec<CachingMode> {
    let is_shown = |mode: &CachingMode| !is_discrete(device.machine()) || *mode != CachingMode::Cached;
    CachingMode::ALL.iter().copied().filter(is_shown).collect()
}

/// The CRC of what a pipe reads from now on.
fn crc(device: &Device, screen: &Screen) -> String {
    let number = device.drm().name().strip_prefix("/dev/dri/card").unwrap();
    let crtcs = device.drm().display().unwrap().resources().unwrap().crtcs;
    let index = crtcs.iter().position(|&crtc| crtc == screen.crtc()).unwrap();
    let folder = format!("/sys/kernel/debug/dri/{number}/crtc-{index}/crc");
    fs::write(format!("{folder}/control"), "auto").unwrap();
    let mut line = [0; 128];
    let length = File::open(format!("{folder}/data")).unwrap().read(&mut line).unwrap();
    // The first word is the frame's number.
    let text = String::from_utf8_lossy(&line[..length]);
    text.split_once(' ').unwrap().1.trim_end_matches('\0').trim().to_owned()
}

fn pictures_are_shown(_: &Device) {
    let device = primary();
    let mut screen = Screen::open(&device).unwrap();
    let mut seen = Vec::new();
    for byte in [0x11, 0x77] {
        let mut crcs = Vec::new();
        for mode in shown_modes(&device) {
            let bo = device.alloc(screen.request(screen.picture_bytes()).caching(mode)).unwrap();
            bo.write_bytes(0, &vec![byte; screen.picture_bytes() as usize]).unwrap();
            screen.show(&bo).unwrap();
            crcs.push(crc(&device, &screen));
        }
        assert!(crcs.iter().all(|crc| *crc == crcs[0]), "{crcs:?}");
        let bo = screen.alloc_dumb().unwrap();
        bo.write_bytes(0, &vec![byte; screen.picture_bytes() as usize]).unwrap();
        screen.show(&bo).unwrap();
        assert_eq!(crc(&device, &screen), crcs[0], "a dumb buffer");
        seen.append(&mut crcs);
    }
    assert_ne!(seen.first(), seen.last(), "the CRC is that of the bytes");
    screen.close().unwrap();
    assert_eq!(device.open_counts().handles, 0);
}

fn zeroes_are_shown(_: &Device) {
    let device = primary();
    let mut screen = Screen::open(&device).unwrap();
    let zeroes = screen.alloc().unwrap();
    zeroes.write_bytes(0, &vec![0; screen.picture_bytes() as usize]).unwrap();
    screen.show(&zeroes).unwrap();
    let expected = crc(&device, &screen);
    for mode in shown_modes(&device) {
        let bo = device.alloc(screen.request(screen.picture_bytes()).caching(mode)).unwrap();
        screen.show(&bo).unwrap();
        assert_eq!(crc(&device, &screen), expected, "{mode}");
    }
    screen.close().unwrap();
}

fn framebuffers_are_not_bound(_: &Device) {
    let device = primary();
    let mut screen = Screen::open(&device).unwrap();
    let no = |errno| move |error: gem_coherency_exercise::Error| error.to_string().contains(errno);
    for &mode in CachingMode::ALL {
        let submit = |bo: &Bo| {
            let write = Submission { bo, access: Access::Write, mocs: MocsClass::PageTable };
            device.submit(&[write]).unwrap();
            bo.wait(None).unwrap();
        };
        let [bound, unbound] =
            [(); 2].map(|()| device.alloc(screen.request(screen.picture_bytes()).caching(mode)).unwrap());
        submit(&bound);
        let added = screen.add(&bound).map_err(no("EINVAL"));
        let is_scanout = mode == CachingMode::Display;
        let is_refused = is_discrete(device.machine()) && mode == CachingMode::Cached;
        if is_refused {
            assert!(screen.add(&unbound).is_err_and(no("EREMOTE")));
            continue;
        }
        assert_eq!(added.map(drop), if is_scanout { Ok(()) } else { Err(true) }, "{mode}");
        // It stays as it was created, and may be bound afterwards.
        screen.add(&unbound).unwrap();
        submit(&unbound);
        assert_eq!(device.drm().caching(unbound.handle()).unwrap(), mode);
        screen.show(&unbound).unwrap();
    }
    screen.close().unwrap();
}

fn a_wait_ends(device: &Device) {
    let bo = alloc(device, CachingMode::Cached);
    bo.wait(Some(Duration::ZERO)).unwrap();
    let write = Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable };
    for _ in 0..20 {
        device.submit(&[write]).unwrap();
    }
    bo.wait(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(bo.busy().unwrap().0, 0);
    device.submit(&[write]).unwrap();
    bo.wait(None).unwrap();
}

fn requests_of_i915_are_refused(device: &Device) {
    let bo = alloc(device, CachingMode::None);
    refused(bo.set_caching(CachingMode::Cached), "when it is created");
    refused(device.drm().create_with_pat(SIZE, 3), "belongs to a mapping");
    assert_eq!(bo.level(), CacheLevel::None);
    let size = device.memory_regions().unwrap().iter().map(|region| region.probed_bytes).sum::<u64>() + 4096;
    assert_eq!(device.alloc(AllocRequest::new(size)).unwrap_err().errno(), Errno::ENOMEM);
}

fn an_import_keeps_its_caching(device: &Device) {
    let other = Device::open(device.drm().name()).unwrap();
    for mode in [CachingMode::None, CachingMode::Cached] {
        let bo = alloc(device, mode);
        bo.write_bytes(0, b"shared").unwrap();
        let dma_buf = bo.export().unwrap();
        assert!(device.import(&dma_buf).unwrap().is_same(&bo));

        // Another file knows nothing of it, and asks the kernel.
        let import = other.import(&dma_buf).unwrap();
        assert_eq!((import.size(), import.map_mode()), (SIZE, mapping(device, mode)), "{mode}");
        let mut bytes = [0; 6];
        import.read_bytes(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"shared");
        other
            .submit(&[Submission { bo: &import, access: Access::Read, mocs: MocsClass::PageTable }])
            .unwrap();
    }
}

fn closed_objects_are_unbound(device: &Device) {
    let (counts, memory) = (device.open_counts(), available_bytes());
    // All at once, as the kernel would give the same handle again.
    let mut held = Vec::new();
    for _ in 0..OBJECTS {
        let bo = device.alloc(AllocRequest::new(LARGE)).unwrap();
        device.submit(&[Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
        bo.wait(None).unwrap();
        held.push(bo);
    }
    drop(held);
    assert_eq!(device.open_counts(), counts);
    memory_comes_back(memory);
}

/// Asserts that most of the memory of closed objects is free again.
#[track_caller]
fn memory_comes_back(memory: u64) {
    // The kernel frees an object a while after its last mapping, and keeps some pages.
    let kept = || memory.saturating_sub(available_bytes());
    let is_free = || kept() < OBJECTS * LARGE / 2;
    let waits = (0..100).take_while(|_| !is_free()).map(|_| sleep(Duration::from_millis(100)));
    waits.for_each(drop);
    assert!(is_free(), "{} bytes", kept());
}

/// Objects that are closed, and their size.
const OBJECTS: u64 = 24;
const LARGE: u64 = 16 << 20;

/// Returns the memory that programs can have, in bytes.
fn available_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() << 10
}

fn objects_are_reused(device: &Device) {
    let device = Device::open(device.drm().name()).unwrap();
    device.set_reuse_limit(1 << 20);
    let handle = alloc(&device, CachingMode::None).handle();
    assert_ne!(alloc(&device, CachingMode::Cached).handle(), handle);
    assert_eq!(alloc(&device, CachingMode::None).handle(), handle);
    assert_eq!(device.reuse_stats().hits, 1);
}

fn adopted_objects_are_tracked(device: &Device) {
    let (drm, rules) = (device.drm(), device.xe().unwrap());
    for (mode, verdict) in [(CachingMode::None, Verdict::Drain), (CachingMode::Cached, Verdict::NotNeeded)] {
        let choice = rules.choose_mode(mode, SIZE).unwrap();
        let object = rules.create(&choice.create.unwrap()).unwrap();
        let created = drm.create_cached(SIZE, mode).unwrap();
        // The node forgets the object with its first BO.
        let mut mapped =
            [(); 2].map(|()| drm.map(created.handle, mapping(device, mode), SIZE).unwrap()).into_iter();
        let mut request = || {
            let request = AdoptRequest::new(created.handle, SIZE).contents(Contents::New);
            request.mapped(mapped.next().unwrap())
        };
        let bo = device.adopt(request().bound(object, choice.pat_index)).unwrap();
        bo.write_bytes(0, b"adopted").unwrap();
        let read = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
        let reports = device.submit_with(&[read], |reports| Ok(reports.to_vec())).unwrap();
        assert_eq!((reports[0].decision.verdict, reports[0].lines), (verdict, 0), "{mode}");
        drop(bo);
        // The kernel would say EINVAL at the bind.
        let plain = |(_, entry): &(u16, &xe::PatEntry)| !entry.coherency.snoops();
        let (not_snooping, _) = rules.pat.indices().find(plain).unwrap();
        let wrong = device.adopt(request().bound(object, not_snooping));
        match mode {
            CachingMode::Cached => {
                let error = wrong.unwrap_err();
                assert_eq!(error.errno(), Errno::EINVAL, "{error}");
                assert!(error.to_string().contains("the GPU must snoop it"), "{error}");
            }
            CachingMode::None | CachingMode::Display => drop(wrong.unwrap()),
        }
        drm.close(created.handle).unwrap();
    }
}

fn adopted_objects_are_forgotten(device: &Device) {
    let (drm, rules) = (device.drm(), device.xe().unwrap());
    let error = device.adopt(AdoptRequest::new(Handle::new(77).unwrap(), SIZE)).unwrap_err();
    assert!(error.to_string().contains("AdoptRequest::bound"), "{error}");
    let choice = rules.choose_mode(CachingMode::None, SIZE).unwrap();
    let object = rules.create(&choice.create.unwrap()).unwrap();
    let handle = drm.create_cached(SIZE, CachingMode::None).unwrap().handle;
    let adopt = || device.adopt(AdoptRequest::new(handle, SIZE).bound(object, choice.pat_index));
    let wrong = xe::Object { size: 4096, ..object };
    let error = device.adopt(AdoptRequest::new(handle, SIZE).bound(wrong, choice.pat_index)).unwrap_err();
    assert!(matches!(error, Error::BadSize { size: 4096, .. }), "{error:?}");
    let bo = adopt().unwrap();
    // Without a mapping of the caller's it gets one; its own export is the same BO.
    bo.write_bytes(0, b"adopted").unwrap();
    assert!(device.import(bo.export().unwrap()).unwrap().is_same(&bo));
    drop(bo.prepare_scanout().unwrap());
    device.submit(&[Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
    bo.read_bytes(0, &mut [0]).unwrap();
    drop(bo);
    assert_eq!(drm.caching(handle).unwrap_err().errno(), Errno::ENOENT);
    assert_eq!(drm.busy(handle).unwrap_err().errno(), Errno::ENOENT);
    drop(adopt().unwrap());
    drm.close(handle).unwrap();
}

fn objects_of_own_batches_are_not_reused(device: &Device) {
    let device = Device::open(device.drm().name()).unwrap();
    device.set_reuse_limit(1 << 20);
    let bo = alloc(&device, CachingMode::None);
    let write = Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable };
    device.submit_with(&[write], |_| Ok(())).unwrap();
    drop(bo);
    let bo = alloc(&device, CachingMode::None);
    let write = Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable };
    device.begin_submit(&[write]).unwrap().end(None);
    drop(bo);
    let bo = alloc(&device, CachingMode::None);
    bo.gpu_wrote(MocsClass::PageTable).unwrap();
    drop(bo);
    alloc(&device, CachingMode::None);
    assert_eq!(device.reuse_stats().hits, 0);
}

fn the_barrier_page_is_there(device: &Device) {
    let rules = device.xe().unwrap();
    match rules.map_offset(0, xe::MapFlags::PCI_BARRIER, false) {
        Ok(()) => {
            let mappings = device.open_counts().mappings;
            let barriers = [(); 2].map(|()| device.pci_barrier().unwrap());
            assert_eq!(device.open_counts().mappings, mappings + 2);
            barriers.iter().for_each(|barrier| barrier.drain().unwrap());
            drop(barriers);
            assert_eq!(device.open_counts().mappings, mappings);
        }
        Err(refusal) => {
            let error = device.pci_barrier().unwrap_err();
            assert!(matches!(error, Error::NotAvailable { .. }), "{error:?}");
            assert_eq!(error.errno(), refusal.errno, "{error}");
            assert!(error.to_string().contains(refusal.rule.reason()), "{error}");
        }
    }
}

fn others_are_unbound(device: &Device) {
    let local = device.memory_regions().unwrap()[1].probed_bytes;
    let request = AllocRequest::new(local / 8 / SIZE * SIZE).caching(CachingMode::None);
    for bo in (0..10).map(|_| device.alloc(request).unwrap()).collect::<Vec<_>>() {
        device.submit(&[Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
        bo.wait(None).unwrap();
    }
}

fn nothing_is_left_in_the_callers_file(device: &Device) {
    let file = File::options().read(true).write(true).open(device.drm().name()).unwrap();
    let submitted = || {
        let device = Device::from_drm(node::open_fd(&file).unwrap()).unwrap();
        let bo = alloc(&device, CachingMode::Cached);
        device.submit(&[Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
        bo.handle()
    };
    let first = submitted();
    // The kernel gives the lowest free number.
    assert!((0..5).all(|_| submitted() == first));
}

/// Returns the primary node of a device without hardware, whose buffers are another driver's.
fn vgem() -> File {
    let found = node::find();
    let is_vgem = |error: &Error| error.to_string().contains("the driver 'vgem'");
    let mut others = found.others.iter().filter(|(_, error)| is_vgem(error)).map(|(path, _)| path);
    let card = others.find(|path| path.to_string_lossy().contains("card")).expect("the machine has vgem");
    File::options().read(true).write(true).open(card).unwrap()
}

fn foreign_objects_are_not_mapped(device: &Device) {
    let import = device.import(foreign_objects::foreign(&vgem(), 128, 128)).unwrap();
    assert_eq!((import.size(), import.level()), (SIZE, CacheLevel::None));
    for &mode in MmapMode::ALL {
        refused(import.map(mode), "another driver");
    }
    assert_eq!(import.flush_owner().owner, FlushOwner::None);
    // A load would raise SIGBUS.
    refused(import.read_bytes(0, &mut [0]), "another driver");
    device.submit(&[Submission { bo: &import, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
    import.wait(None).unwrap();
}
