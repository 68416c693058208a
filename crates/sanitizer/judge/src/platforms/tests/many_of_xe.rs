//! Runs on a device of xe that platforms of xe judge, in traces that are made by hand.

use super::xe::{SIZE, object, state};
use super::*;
use crate::judging::need::Need;
use gem_coherency::vocabulary::Agent;
use gem_coherency::xe::{
    self, BindFlags, BindOp, CpuCaching, Create, CreateFlags, LOCAL, Refusal, Rule, SYSTEM,
};
use gem_coherency_sim::{AskedBind, AskedMemory, AskedObject, AskedRequest, NamedObject};

const FOUR: &[&str] = &["lnl", "bmg", "ptl", "tgl,driver=xe"];
const WITHOUT_BMG: &[&str] = &["lnl", "ptl", "tgl,driver=xe"];
const TGL: &[&str] = &["tgl,driver=xe"];
const WB: xe::Object =
    xe::Object { caching: Some(CpuCaching::Wb), size: SIZE, placement: SYSTEM, flags: CreateFlags::empty() };
const WC: xe::Object = xe::Object { caching: Some(CpuCaching::Wc), ..WB };
const FRAMED: TraceEvent = TraceEvent::Event(Event::AddFramebuffer);

/// A judge of a run on Lunar Lake, and the requests that it has heard of.
struct Run {
    judge: Judge,
    asked: u64,
    found: Vec<Verdict>,
}

/// A mistake: its kind, its rule if it is a refusal, its first line, the platforms.
type Mistakes = Vec<(Mistake, Option<Rule>, Option<u64>, Vec<&'static str>)>;

impl Run {
    fn new(platforms: &[&str], without: Option<Rule>) -> Self {
        Self::under(KernelVersion::new(7, 2), platforms, without)
    }

    fn under(kernel: KernelVersion, platforms: &[&str], without: Option<Rule>) -> Self {
        let machine = xe::device("lnl", kernel).unwrap().machine();
        let platforms: Vec<_> =
            platforms.iter().map(|name| JudgingPlatform::by_name(name).unwrap()).collect();
        let rules = KernelRules::of(kernel).unwrap();
        Self { judge: Judge::new(machine, (rules, without), &platforms), asked: 0, found: Vec::new() }
    }

    /// A run with an object that the program maps.
    fn with(platforms: &[&str], created: xe::Object) -> Self {
        let mut run = Self::new(platforms, None);
        run.create(created, false);
        run
    }

    fn create(&mut self, created: xe::Object, is_dumb: bool) {
        let level = CacheLevel::None;
        let snapshot = state(level);
        let by = TraceEvent::CreatedByXe { size: SIZE, snapshot, zeroed_by: Agent::Gpu, created, is_dumb };
        self.feed(&[by, TraceEvent::Mapped(Route::CpuCached)]);
    }

    fn feed(&mut self, events: &[TraceEvent]) {
        let traced = events.iter().map(|&event| Traced { object: 1, event });
        self.judge.feed((traced.collect(), 0));
        self.found.extend(self.judge.take_verdicts());
    }

    fn ask(&mut self, request: AskedRequest, refused: Option<Rule>) {
        let (number, errno) = (self.asked, gem_coherency::Errno::EINVAL);
        let refused = refused.map(|rule| Refusal { errno, rule });
        self.judge.hear_asked(vec![AskedOfXe { number, refused, request }]);
        self.feed(&[TraceEvent::Asked { number }]);
        self.asked += 1;
    }

    fn bind(&mut self, pat_index: u16) {
        self.ask(bind(pat_index, true), None);
    }

    #[track_caller]
    fn found(self) -> Mistakes {
        let of = |it: Verdict| {
            let rule = it.refused.map(|refused| refused.rule);
            (it.kind, rule, it.lines.first().map(|lines| lines.first()), names(&it.platforms))
        };
        self.found.into_iter().map(of).collect()
    }

    /// Returns the platforms that refuse a request, and those on which something is not judged.
    fn not_alike(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let all = self.judge.not_alike(&[]);
        let of = |is: fn(&NotAlike) -> bool| {
            all.iter().filter(|(_, why)| is(why)).map(|(platform, _)| platform.name()).collect()
        };
        (of(|why| !why.refused.is_empty()), of(|why| !why.not_judged.is_empty()))
    }
}

fn asked_object() -> AskedObject {
    AskedObject { number: 1, handle: None, size: SIZE }
}

/// VM_BIND of the object, or of the process's own pages.
fn bind(pat_index: u16, is_object: bool) -> AskedRequest {
    let op = if is_object { BindOp::Map } else { BindOp::MapUserptr } as u32;
    let object = is_object.then(|| NamedObject::Known(asked_object()));
    let (flags, address) = (BindFlags::empty(), 0x10_0000);
    let one = AskedBind { op, flags, offset: 0, address, range: SIZE, pat_index, region: 0, object };
    AskedRequest::Bind { operations: vec![one], faults: false, reaches_objects: true }
}

fn advise(pat_index: u16) -> AskedRequest {
    let found = vec![AskedMemory::Object(asked_object())];
    AskedRequest::Advise { start: 0x10_0000, range: SIZE, pat_index, reserved: false, found }
}

fn gpu(access: Access, line: u64, pat_index: u16) -> TraceEvent {
    let (lines, pat_index) = (LineRange::new(line, line + 1), Some(pat_index));
    TraceEvent::Accessed { route: PLAIN, access, lines, handle: None, pat_index }
}

fn refused(rule: Rule, on: &[&'static str]) -> Mistakes {
    vec![(Mistake::RefusedRequest, Some(rule), None, on.to_vec())]
}

#[test]
fn the_display_misses_a_write_back_objects_stores_where_it_shows_the_object() {
    let shown = |created: xe::Object, events: &[TraceEvent]| {
        let mut run = Run::with(FOUR, created);
        run.feed(&[FRAMED]);
        run.feed(events);
        run.feed(&[read(Route::Display, 3, 4)]);
        assert_eq!(run.not_alike(), (vec!["bmg"], vec![]), "it shows local memory");
        run.found()
    };
    let stale = vec![(Mistake::StaleRead, None, Some(3), WITHOUT_BMG.to_vec())];
    assert_eq!(shown(WB, &[stored(3, 4)]), stale);
    assert_eq!(shown(WB, &[stored(3, 4), flushed(3)]), []);
    assert_eq!(shown(WB, &[]), stale, "the kernel's zeroes");
    let scanout = xe::Object { flags: CreateFlags::SCANOUT, ..WC };
    assert_eq!(shown(scanout, &[stored(3, 4)]), []);
    assert_eq!(shown(scanout, &[]), [], "its zeroes are in memory");
}

#[test]
fn a_dumb_buffer_is_shown_on_every_platform_with_a_display() {
    let mut run = Run::new(&["lnl", "bmg", "atsm,driver=xe"], None);
    run.create(xe::Object { flags: CreateFlags::SCANOUT, ..WC }, true);
    run.feed(&[FRAMED, stored(3, 4), read(Route::Display, 3, 4)]);
    assert_eq!(run.not_alike(), (vec!["atsm,driver=xe"], vec![]));
    assert_eq!(run.found(), []);
}

#[test]
fn a_flush_for_the_display_is_needed_where_the_object_is_shown() {
    let mut run = Run::with(FOUR, WB);
    run.feed(&[FRAMED, stored(3, 4), flushed(3), read(Route::Display, 3, 4)]);
    let flushed = run.judge.flushed();
    assert_eq!(names(&flushed.on(0, Need::Needed)), WITHOUT_BMG);
    assert_eq!(
        names(&flushed.on(0, Need::Precautionary)),
        ["lnl", "bmg", "ptl", "tgl,driver=xe"],
        "not judged"
    );
    let mut run = Run::with(FOUR, WB);
    run.feed(&[stored(3, 4), super::flushed(3), gpu(Access::Read, 3, 2)]);
    assert_eq!(names(&run.judge.flushed().on(0, Need::Precautionary)), [""; 0], "useless everywhere");
}

#[test]
fn a_bind_is_refused_by_each_platforms_pat_table() {
    let of = |created: xe::Object, pat_index| {
        let mut run = Run::with(FOUR, created);
        run.bind(pat_index);
        run.found()
    };
    assert_eq!(of(WB, 2), refused(Rule::CachedNotSnooped, TGL));
    assert_eq!(of(WB, 0), refused(Rule::CachedNotSnooped, &["lnl", "bmg", "ptl"]));
    assert_eq!(of(WB, 3), refused(Rule::CachedNotSnooped, FOUR));
    assert_eq!(of(WC, 2), []);
    assert_eq!(of(WC, 3), []);
    let beyond = (Mistake::RefusedRequest, Some(Rule::PatIndexBeyond), None, vec!["bmg", "tgl,driver=xe"]);
    assert_eq!(of(WC, 31), [beyond], "class of service 3 is the driver's on bmg");
    let reserved = (Mistake::RefusedRequest, Some(Rule::PatIndexReserved), None, vec!["lnl", "bmg"]);
    let beyond = (Mistake::RefusedRequest, Some(Rule::PatIndexBeyond), None, TGL.to_vec());
    assert_eq!(of(xe::Object { flags: CreateFlags::empty(), ..WC }, 16), [reserved, beyond], "ptl has it");
}

#[test]
fn own_pages_and_advice_are_refused_where_they_are_not_snooped() {
    let mut run = Run::new(FOUR, None);
    run.ask(bind(2, false), None);
    assert_eq!(run.found(), refused(Rule::UserptrNotSnooped, TGL));
    let mut run = Run::with(&["lnl", "bmg", "ptl"], WB);
    run.ask(advise(3), Some(Rule::CachedNotSnooped));
    assert_eq!(
        run.not_alike(),
        (vec![], vec!["bmg"]),
        "it accepts the advice, and what follows is not known"
    );
    assert_eq!(run.found(), refused(Rule::CachedNotSnooped, &["lnl", "ptl"]));
    let mut run = Run::with(&["lnl", "bmg", "ptl"], WB);
    run.ask(advise(2), None);
    assert_eq!((run.not_alike(), run.found()), ((vec![], vec![]), vec![]));
}

#[test]
fn an_object_is_not_judged_where_its_creation_or_its_bind_is_refused() {
    let show = [FRAMED, stored(3, 4), read(Route::Display, 3, 4)];
    let mut run = Run::with(WITHOUT_BMG, WB);
    run.feed(&[flushed(7)]);
    run.bind(2);
    assert_eq!(names(&run.judge.flushed().on(0, Need::Precautionary)), TGL);
    run.feed(&show);
    let stale = (Mistake::StaleRead, None, Some(3), vec!["lnl", "ptl"]);
    assert_eq!(run.found(), [refused(Rule::CachedNotSnooped, TGL), vec![stale]].concat());
    // Local memory, of which only bmg has some: no rule of caching.
    let local = object(CpuCaching::Wc, LOCAL);
    let mut run = Run::new(&["lnl", "bmg"], None);
    let create = Create { placement: LOCAL, ..Create::new(SIZE, CpuCaching::Wc) };
    run.ask(AskedRequest::Create(create), None);
    run.create(local, false);
    run.feed(&show);
    assert_eq!(run.not_alike(), (vec!["lnl"], vec![]));
    assert_eq!(run.found(), []);
    let mut run = Run::new(FOUR, None);
    let create = Create { flags: CreateFlags::SCANOUT, ..Create::new(SIZE, CpuCaching::Wb) };
    run.ask(AskedRequest::Create(create), Some(Rule::ScanoutIsWc));
    assert_eq!(run.found(), refused(Rule::ScanoutIsWc, FOUR));
}

#[test]
fn a_request_that_fails_for_another_reason_reaches_no_check_of_objects() {
    for reaches_objects in [false, true] {
        let mut run = Run::with(FOUR, WB);
        let AskedRequest::Bind { operations, faults, .. } = bind(2, true) else { unreachable!() };
        run.ask(AskedRequest::Bind { operations, faults, reaches_objects }, None);
        assert_eq!(run.found().is_empty(), !reaches_objects);
    }
}

#[test]
fn the_gpus_writes_are_shown_unless_they_stay_in_a_shared_cache() {
    let shown = |pat_index| {
        let mut run = Run::with(&["lnl", "tgl,driver=xe"], WC);
        run.feed(&[FRAMED, gpu(Access::Write, 3, pat_index), read(Route::Display, 3, 4)]);
        run.found()
    };
    assert_eq!(shown(0), [(Mistake::StaleRead, None, Some(3), TGL.to_vec())], "write-back on tgl");
    assert_eq!(shown(1), []);
}

#[test]
fn without_the_rule_the_gpu_reads_old_bytes_where_the_index_decides() {
    let of = |pat_index| {
        let mut run = Run::new(&["lnl", "bmg", "ptl"], Some(Rule::CachedNotSnooped));
        run.create(WB, false);
        run.bind(pat_index);
        run.feed(&[stored(3, 4), gpu(Access::Read, 3, pat_index)]);
        run.found()
    };
    assert_eq!(of(3), [(Mistake::StaleRead, None, Some(3), vec!["lnl", "ptl"])], "bmg's bus snoops");
    assert_eq!(of(2), []);
}

#[test]
fn a_write_combining_object_is_cached_on_a_discrete_device() {
    // Its stores are seen by the GPU in either case, and a flush does nothing for it.
    let mut run = Run::with(&["lnl", "bmg"], WC);
    run.bind(3);
    run.feed(&[stored(3, 4), flushed(3), gpu(Access::Read, 3, 3), stored(4, 5), gpu(Access::Read, 4, 3)]);
    assert_eq!(names(&run.judge.flushed().on(0, Need::Precautionary)), [""; 0]);
    assert_eq!(run.found(), []);
}

#[test]
fn an_unflushed_write_of_a_copy_engine_is_one_on_every_platform() {
    let mut run = Run::with(FOUR, WB);
    run.feed(&[TraceEvent::Posted { lines: LineRange::new(2, 3), handle: None }]);
    assert_eq!(run.found(), [(Mistake::UnflushedGpuWrite, None, Some(2), FOUR.to_vec())]);
}

const OF_I915: &[&str] = &["glk", "tgl", "mtl", "dg2", "i965g"];
const SUBMITTED: TraceEvent = TraceEvent::Submitted { handle: None };
const PINNED: TraceEvent = TraceEvent::Event(Event::PinDisplay);

#[test]
fn under_i915_nothing_is_missing_between_cpu_and_gpu() {
    let of = |created: xe::Object, events: &[TraceEvent]| {
        let mut run = Run::with(OF_I915, created);
        run.feed(&[TraceEvent::Event(Event::Acquire)]);
        run.feed(events);
        let not_alike = run.not_alike();
        (run.found(), not_alike.1)
    };
    let batch =
        [stored(3, 4), SUBMITTED, gpu(Access::Read, 3, 2), gpu(Access::Write, 5, 2), gpu(Access::Read, 0, 2)];
    assert_eq!(of(WB, &batch), (vec![], vec!["i965g"]), "its GPU does not snoop");
    assert_eq!(of(WC, &batch), (vec![], vec![]));
    let load = [SUBMITTED, gpu(Access::Write, 5, 2), read(Route::CpuCached, 5, 6)];
    assert_eq!(of(WB, &load), (vec![], vec!["i965g"]));
    let acquired = TraceEvent::Event(Event::Acquire);
    for minor in [12, 18] {
        let of = |events: &[TraceEvent]| {
            let mut run = Run::under(KernelVersion::new(6, minor), OF_I915, None);
            run.create(WC, false);
            run.feed(events);
            run.found()
        };
        assert_eq!(of(&[acquired, gpu(Access::Read, 3, 2)]), []);
        let stale = (Mistake::StaleRead, None, Some(3), vec!["glk", "mtl", "i965g"]);
        assert_eq!(
            of(&[gpu(Access::Read, 3, 2)]),
            [stale],
            "the kernel's zeroes are in its cache until then"
        );
    }
}

#[test]
fn under_i915_the_kernel_flushes_what_it_shows_and_no_later_stores() {
    let of = |created: xe::Object, events: &[TraceEvent]| {
        let mut run = Run::with(&["lnl", "glk", "tgl", "mtl", "dg2"], created);
        run.feed(&[TraceEvent::Event(Event::Acquire), FRAMED]);
        run.feed(events);
        assert_eq!(run.not_alike().0, ["dg2"], "it shows local memory");
        run.found()
    };
    let shown = read(Route::Display, 3, 4);
    let stale = |on: &[&'static str]| vec![(Mistake::StaleRead, None, Some(3), on.to_vec())];
    assert_eq!(of(WB, &[stored(3, 4), PINNED, shown]), stale(&["lnl"]), "xe flushes nothing");
    assert_eq!(
        of(WB, &[PINNED, flushed(3), shown, stored(3, 4), shown]),
        stale(&["lnl", "glk", "tgl", "mtl"])
    );
    assert_eq!(of(WB, &[PINNED, flushed(3), shown, stored(3, 4), flushed(3), shown]), []);
    assert_eq!(of(WC, &[stored(3, 4), PINNED, shown, stored(3, 4), shown]), []);
}

#[test]
fn under_i915_local_memory_is_local_where_there_is_some() {
    let mut run = Run::new(&["dg2", "glk"], None);
    run.create(object(CpuCaching::Wc, LOCAL), false);
    run.feed(&[
        FRAMED,
        stored(3, 4),
        PINNED,
        read(Route::Display, 3, 4),
        stored(3, 4),
        read(Route::Display, 3, 4),
    ]);
    assert_eq!((run.not_alike(), run.found()), ((vec![], vec![]), vec![]));
}

#[test]
fn under_i915_no_request_says_a_mappings_caching() {
    for (refused, wanted) in [(Some(Rule::CachedNotSnooped), vec!["glk"]), (None, vec![])] {
        let mut run = Run::with(&["lnl", "glk"], WB);
        run.ask(bind(if refused.is_some() { 3 } else { 2 }, true), refused);
        assert_eq!(run.not_alike().1, wanted);
        let of_lnl = refused.map(|rule| self::refused(rule, &["lnl"])).unwrap_or_default();
        assert_eq!(run.found(), of_lnl);
    }
}
