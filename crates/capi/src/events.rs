//! Collects the library's events during a call from C, and passes them on at its end.
//!
//! Events are created under the library's locks, so a callback must not run there. A call collects its lines,
//! and passes them on after its work is done and its locks are released ([`during`]). So a callback can query
//! the library. They go to the callback of the device whose object the call was given first ([`concerns`]), if it has one,
//! and otherwise to the process's.

pub(super) mod sink;

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_uint};
use std::fmt::{self, Write};
use std::mem::ManuallyDrop;
use std::sync::{Arc, OnceLock};

use gem_coherency::fork::Confined;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

use self::sink::{LEVELS, PROCESS, Receiver, highest};

/// What the objects of a device have in common.
pub(super) struct Owner {
    /// It is a software device, where a mapping of the caller's cannot exist.
    pub(super) is_soft: bool,
    /// The device's log callback.
    pub(super) log: Confined<Receiver>,
}

/// Largest number of bytes of a call's lines; further lines are only counted.
const MOST_BYTES: usize = 1 << 20;

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No call from C: calls from Rust are not logged here.
    Outside,
    /// A call from C.
    InCall,
    /// A callback, at the end of a call.
    InCallback,
}

/// The lines of a call, in order.
#[derive(Debug)]
struct Lines {
    kept: Vec<(Level, CString)>,
    bytes: usize,
    left_out: u64,
}

thread_local! {
    static STAGE: Cell<Stage> = const { Cell::new(Stage::Outside) };
    /// The least severe level that the present call logs.
    static WANTED: Cell<c_uint> = const { Cell::new(0) };
    /// The device of the present call, if it has a callback of its own. Empty between calls, as `LINES`.
    static OWNER: RefCell<ManuallyDrop<Option<Arc<Owner>>>> = const { RefCell::new(ManuallyDrop::new(None)) };
    /// Empty between calls, so it needs no destructor; calls are logged until the thread has ended.
    static LINES: RefCell<ManuallyDrop<Lines>> =
        const { RefCell::new(ManuallyDrop::new(Lines { kept: Vec::new(), bytes: 0, left_out: 0 })) };
}

impl Lines {
    fn add(&mut self, level: Level, text: CString) {
        self.bytes = self.bytes.saturating_add(text.as_bytes().len());
        match self.bytes <= MOST_BYTES && self.kept.try_reserve(1).is_ok() {
            true => self.kept.push((level, text)),
            false => self.left_out += 1,
        }
    }

    /// Takes all of the lines.
    fn take(&mut self) -> Vec<(Level, CString)> {
        let mut lines = std::mem::take(&mut self.kept);
        let left_out = std::mem::take(&mut self.left_out);
        self.bytes = 0;
        if left_out > 0 {
            let more = format!("{}: {left_out} more events of this call", module_path!());
            // It contains no zero byte.
            lines.extend(CString::new(more).ok().map(|text| (Level::ERROR, text)));
        }
        lines
    }
}

/// Returns whether this thread is in a callback.
#[inline]
pub(super) fn is_in_callback() -> bool {
    STAGE.get() == Stage::InCallback
}

/// Logs the rest of the present call to the callback of this device, if it has one. The first device of a call counts.
#[inline]
pub(super) fn concerns(owner: &Arc<Owner>) {
    if highest() == 0 || STAGE.get() != Stage::InCall {
        return;
    }
    // In a child process, another thread of the parent may hold the lock of the callback forever.
    let Some(level) = owner.log.get().ok().and_then(Receiver::level) else { return };
    OWNER.with_borrow_mut(|kept| {
        kept.get_or_insert_with(|| {
            WANTED.set(level);
            Arc::clone(owner)
        });
    });
}

/// Runs a call from C, then passes its lines to the callback.
#[inline]
pub(super) fn during<T>(call: impl FnOnce() -> T) -> T {
    // Calls by a callback are not logged, and no call is without a callback: outside of a logged call, nothing is wanted.
    if highest() == 0 || STAGE.get() != Stage::Outside { call() } else { log(call) }
}

#[cold]
fn log<T>(call: impl FnOnce() -> T) -> T {
    STAGE.set(Stage::InCall);
    WANTED.set(PROCESS.get().level().unwrap_or(0));
    let done = call();
    let lines = LINES.with_borrow_mut(|lines| lines.take());
    let owner = OWNER.with_borrow_mut(|owner| owner.take());
    if !lines.is_empty() {
        STAGE.set(Stage::InCallback);
        let lines = || lines.iter().map(|(level, text)| (number(*level), text.as_c_str()));
        let own = owner.as_ref().and_then(|owner| owner.log.get().ok());
        if !own.is_some_and(|own| own.pass(lines())) {
            PROCESS.get().pass(lines());
        }
    }
    STAGE.set(Stage::Outside);
    WANTED.set(0);
    done
}

/// Returns the number of a level in C (`gemco_log_level`).
fn number(level: Level) -> c_uint {
    let place = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE]
        .iter()
        .position(|&one| one == level);
    place.map_or(0, |place| place as c_uint + 1)
}

/// Returns the filter for the number of a level.
pub(super) fn filter(number: c_uint) -> Option<LevelFilter> {
    let all: [_; LEVELS] = [
        LevelFilter::OFF,
        LevelFilter::ERROR,
        LevelFilter::WARN,
        LevelFilter::INFO,
        LevelFilter::DEBUG,
        LevelFilter::TRACE,
    ];
    usize::try_from(number).ok().and_then(|place| all.get(place)).copied()
}

/// Collects the events of calls from C; ignores spans.
struct Log;

impl Subscriber for Log {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        // The level may change.
        Interest::sometimes()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        filter(highest())
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // `tracing::enabled!` checks for neither an event nor a span.
        !metadata.is_span() && number(*metadata.level()) <= WANTED.get()
    }

    fn new_span(&self, _attributes: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if STAGE.get() != Stage::InCall {
            return;
        }
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        line.0.retain(|character| character != '\0');
        let Ok(text) = CString::new(line.0) else { return };
        LINES.with_borrow_mut(|lines| lines.add(*event.metadata().level(), text));
    }
}

/// The text of an event: its target, its message, its fields.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, ": {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

/// Makes the library's events available to callbacks; returns whether it could: a Rust program may have a subscriber of its own.
pub(super) fn subscribe() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    *IS_SET.get_or_init(|| set_global_default(Log).is_ok())
}
