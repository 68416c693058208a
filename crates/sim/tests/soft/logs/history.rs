//! The recording of what happens to objects' lines.

use gem_coherency::backend::Drm as _;
use gem_coherency::policy::kernel::Event;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, Domains, MocsClass};
use gem_coherency_sim::{AccessedLines, LineStates, Recorded, RecordedEvent, Route};

use crate::Page;

const GPU: Route = Route::Gpu(MocsClass::PageTable);

fn recorded(name: &str) -> Page {
    let page = Page::new(name);
    page.device.watch(true);
    page.device.record(true);
    page
}

/// Stores without a record, as a program in another process does.
fn store(page: &Page, bytes: &[u8]) {
    page.store(bytes);
    page.device.recorded();
}

fn line(number: u64) -> Vec<LineRange> {
    vec![LineRange::new(number, number + 1)]
}

/// Returns the events of the only object.
fn events(page: &Page) -> Vec<RecordedEvent> {
    let of_object = |record: Recorded| {
        assert_eq!(record.object, 1);
        record.event
    };
    page.device.recorded().into_iter().map(of_object).collect()
}

/// An access by the GPU to line 0, after the states of the lines.
fn gpu(states: LineStates, access: Access, outdated: bool) -> [RecordedEvent; 2] {
    let outdated = if outdated { line(0) } else { vec![] };
    let lines = AccessedLines { all: line(0), outdated, ..AccessedLines::default() };
    [RecordedEvent::Lines(states), RecordedEvent::Access { route: GPU, access, lines }]
}

#[test]
fn an_access_is_recorded_after_the_states_of_the_lines() {
    let page = recorded("glk");
    store(&page, b"new!");
    page.gpu_reads(MocsClass::PageTable);
    page.gpu_reads(MocsClass::PageTable);
    let dirty = LineStates { dirty: line(0), stale: vec![] };
    assert_eq!(events(&page), gpu(dirty, Access::Read, false), "one event until it is taken");
    assert_eq!(events(&page), [], "taken");
    page.flush();
    page.load();
    page.device.recorded();
    page.gpu_writes(b"gpu!");
    assert_eq!(events(&page), gpu(LineStates::default(), Access::Write, true));
    page.gpu_reads(MocsClass::PageTable);
    let stale = LineStates { dirty: vec![], stale: line(0) };
    assert_eq!(events(&page), gpu(stale, Access::Read, false), "the CPU's copy is stale");
}

#[test]
fn the_states_of_lines_are_known_between_events() {
    let page = recorded("glk");
    page.gpu_writes(b"old!");
    page.load();
    page.gpu_writes(b"gpu!");
    let stale = LineStates { dirty: vec![], stale: line(0) };
    assert_eq!(page.device.line_states(1), Some(stale));
    page.flush();
    assert_eq!(page.device.line_states(1), Some(LineStates::default()));
    assert_eq!(page.device.line_states(u64::MAX), None, "no such object");
    page.device.record(false);
    assert_eq!(page.device.line_states(1), None, "nothing is recorded");
}

#[test]
fn the_gpu_dirties_lines_of_a_shared_cache() {
    let page = recorded("tgl");
    page.gpu_writes(b"gpu!");
    let lines = AccessedLines { all: line(0), dirtied: line(0), ..AccessedLines::default() };
    let write = RecordedEvent::Access { route: GPU, access: Access::Write, lines };
    assert_eq!(events(&page), [RecordedEvent::Lines(LineStates::default()), write]);
}

#[test]
fn a_request_is_recorded_with_its_flush() {
    let page = recorded("glk");
    crate::write_domain(&page.device, page.handle(), Domains::CPU).unwrap();
    page.device.recorded();
    store(&page, b"new!");
    crate::write_domain(&page.device, page.handle(), Domains::GTT).unwrap();
    let states = LineStates { dirty: line(0), stale: vec![] };
    let request = RecordedEvent::Request {
        call: "DRM_IOCTL_I915_GEM_SET_DOMAIN",
        event: Event::SetDomainGtt(Access::Write),
        flushes: true,
    };
    assert_eq!(events(&page), [RecordedEvent::Lines(states), request]);
}

#[test]
fn shared_bytes_have_the_same_states() {
    for flush in [false, true] {
        let page = recorded("glk");
        assert!(!page.map.as_ptr().is_null());
        store(&page, b"new!");
        if flush {
            page.flush();
        }
        page.gpu_reads(MocsClass::PageTable);
        let dirty = if flush { vec![] } else { line(0) };
        assert_eq!(events(&page), gpu(LineStates { dirty, stale: vec![] }, Access::Read, false));
    }
}

#[test]
fn nothing_is_recorded_of_large_objects_and_of_devices_that_do_not_record() {
    let page = Page::new("glk");
    page.device.watch(true);
    page.gpu_reads(MocsClass::PageTable);
    assert_eq!(events(&page), []);
    page.device.record(true);
    for (bytes, count) in [(16 << 20, 1), (32 << 20, 0)] {
        let large = page.device.create(bytes).unwrap().handle;
        page.device.gpu_read(large, MocsClass::PageTable, 0, &mut [0; 4]).unwrap();
        let records = page.device.recorded();
        let accesses = records.iter().filter(|record| matches!(record.event, RecordedEvent::Access { .. }));
        assert_eq!(accesses.count(), count, "{bytes} bytes");
    }
}
