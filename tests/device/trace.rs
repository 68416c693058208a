//! The fences, line operations and decisions of a call, as the library traces them.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Once;

use gem_coherency::vocabulary::{CachingMode, MmapMode};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::rig;

thread_local! {
    /// The operations of this thread, while it records.
    static SEEN: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
    /// The decisions.
    static DECIDED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Returns the fences and line operations of `call` on this thread, in order: `fence` with the operation that it is for,
/// `fence loads`, `read back`, or `lines` with the BO's handle and the number of lines. A request to the kernel for the level is `level` with the handle.
#[track_caller]
pub fn cache_operations<T: Debug>(call: impl FnOnce() -> gem_coherency::Result<T>) -> Vec<String> {
    // Installed globally, for all threads. With a subscriber for this thread only, another thread that
    // reaches an event first finds no subscriber, and disables the event.
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
    tracing::callsite::rebuild_interest_cache();
    SEEN.set(Some(Vec::new()));
    let done = call();
    let seen = SEEN.take();
    done.unwrap();
    seen.unwrap()
}

/// Returns the decisions of `call` on this thread, in order: step, verdict, rule, lines and bytes, with the BO's handle.
#[track_caller]
fn decisions<T: Debug>(call: impl FnOnce() -> gem_coherency::Result<T>) -> Vec<String> {
    DECIDED.take();
    cache_operations(call);
    DECIDED.take()
}

#[test]
fn each_decision_is_an_event() {
    let rig = rig("sim:glk");
    let bo = rig.bo(CachingMode::None, MmapMode::Wb);
    let handle = bo.handle();
    bo.write_bytes(60, &[1; 8]).unwrap();
    let flush = || bo.flush().map(drop);
    assert_eq!(
        decisions(flush),
        [format!("{handle} sync: flush by display-reads-memory, 2 lines, 128 bytes")]
    );
    assert_eq!(decisions(flush), [format!("{handle} sync: none by nothing-dirty, 0 lines, 0 bytes")]);
}

/// Records the events of flushes.
struct Recorder;

/// The fields of an event that describe the operation.
#[derive(Default)]
struct Fields {
    message: String,
    op: String,
    step: String,
    verdict: String,
    rule: String,
    handle: u64,
    lines: u64,
    bytes: u64,
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "handle" => self.handle = value,
            "lines" => self.lines = value,
            "bytes" => self.bytes = value,
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "op" => self.op = format!("{value:?}"),
            "step" => self.step = format!("{value:?}"),
            "verdict" => self.verdict = format!("{value:?}"),
            "rule" => self.rule = format!("{value:?}"),
            _ => {}
        }
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        [
            "gem_coherency::engine::report",
            "gem_coherency::object::shared::flush",
            "gem_coherency::backend::mapping",
            "gem_coherency::object::shared::caching",
        ]
        .iter()
        .any(|target| metadata.target().starts_with(target))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields { message, op, step, verdict, rule, handle, lines, bytes } = fields;
        if message == "decision" {
            let decision = format!("{handle} {step}: {verdict} by {rule}, {lines} lines, {bytes} bytes");
            return DECIDED.with_borrow_mut(|all| all.push(decision));
        }
        let seen = match message.as_str() {
            "fence" => format!("fence {op}"),
            "fence loads" | "read back" => message,
            "level" => format!("level {handle}"),
            "lines" => format!("lines {handle} {lines}"),
            _ => return,
        };
        SEEN.with_borrow_mut(|all| {
            if let Some(all) = all {
                all.push(seen);
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
