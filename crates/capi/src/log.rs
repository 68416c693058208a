//! Passes the library's events to a callback of C.
//!
//! Events are created under the library's locks, so a callback must not run there. A call collects its lines,
//! and passes them on after its work is done and its locks are released ([`during`]). So a callback can query
//! the library.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fmt::{self, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use gem_coherency::Errno;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

use super::error::{Failure, run};
use gem_coherency::fork::PerProcess;

/// The level of logging: events of this level and of the more severe ones are logged.
#[repr(C)]
pub enum gemco_log_level {
    /// Nothing.
    GEMCO_LOG_OFF = 0,
    /// Failures that no return value reports.
    GEMCO_LOG_ERROR = 1,
    /// Unexpected events: an unknown PCI ID, a handle that did not close.
    GEMCO_LOG_WARN = 2,
    /// Main events.
    GEMCO_LOG_INFO = 3,
    /// Requests and decisions: handle, step, verdict, rule, lines, bytes.
    GEMCO_LOG_DEBUG = 4,
    /// Flushes and fences.
    GEMCO_LOG_TRACE = 5,
}

/// Receives the library's events. level: a gemco_log_level. text: a line without a newline, valid only during the call.
/// user: the pointer given to gemco_set_log.
pub type gemco_log_fn = Option<unsafe extern "C" fn(level: c_uint, text: *const c_char, user: *mut c_void)>;

/// The receiver of events.
#[derive(Clone, Copy)]
struct Sink {
    call: unsafe extern "C" fn(c_uint, *const c_char, *mut c_void),
    user: *mut c_void,
}

// SAFETY: the pointer is only passed to the callback, which may run on any thread, as its documentation says.
unsafe impl Send for Sink {}
// SAFETY: as for `Send`.
unsafe impl Sync for Sink {}

/// Empty in a child process until it sets a callback.
static SINK: PerProcess<RwLock<Option<Sink>>> = PerProcess::new();
static LEVEL: AtomicU32 = AtomicU32::new(0);

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
pub(super) fn is_in_callback() -> bool {
    STAGE.get() == Stage::InCallback
}

/// Runs a call from C, then passes its lines to the callback.
pub(super) fn during<T>(call: impl FnOnce() -> T) -> T {
    // Calls by a callback are not logged.
    if STAGE.get() != Stage::Outside {
        return call();
    }
    STAGE.set(Stage::InCall);
    let done = call();
    let lines = LINES.with_borrow_mut(|lines| lines.take());
    if !lines.is_empty() {
        let sink = SINK.get().read().unwrap_or_else(PoisonError::into_inner);
        STAGE.set(Stage::InCallback);
        for (level, text) in lines {
            let Some(Sink { call, user }) = *sink else { break };
            // SAFETY: the function and its pointer are valid until they are replaced, which waits for this
            // lock.
            unsafe { call(number(level), text.as_ptr(), user) };
        }
    }
    STAGE.set(Stage::Outside);
    done
}

/// Returns the number of a level in C.
fn number(level: Level) -> c_uint {
    let level = match level {
        Level::ERROR => gemco_log_level::GEMCO_LOG_ERROR,
        Level::WARN => gemco_log_level::GEMCO_LOG_WARN,
        Level::INFO => gemco_log_level::GEMCO_LOG_INFO,
        Level::DEBUG => gemco_log_level::GEMCO_LOG_DEBUG,
        Level::TRACE => gemco_log_level::GEMCO_LOG_TRACE,
    };
    level as c_uint
}

/// Returns the filter for the number of a level.
fn filter(number: c_uint) -> Option<LevelFilter> {
    let all = [
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
        // Relaxed suffices: this is a filter, and publishes no other data.
        filter(LEVEL.load(Ordering::Relaxed))
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Relaxed suffices: as above.
        // `tracing::enabled!` checks for neither an event nor a span.
        !metadata.is_span() && number(*metadata.level()) <= LEVEL.load(Ordering::Relaxed)
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

/// Sends the library's events to `callback`, from now on, for the whole process; NULL ends logging.
///
/// level: a gemco_log_level; less severe events are not formatted.
/// callback: called at the end of each call that has lines, on that call's thread, once for each line; possibly by
/// several threads at once. The library holds none of its locks then. The callback must return (no longjmp, no
/// exception). It may call the functions that only query: those about platforms, rules, decisions, cache lines of its
/// own memory and the last error, gemco_explain, gemco_job_reports, gemco_device_platform, _fd, _mocs, _open_counts,
/// _reuse_stats and _ref, gemco_bo_handle, _size, _level, _map_mode, _lines, _busy and _ref. Every other function
/// returns -EDEADLK there and does nothing; one without a result does nothing either. Calls by a callback are not
/// logged. Once this function has returned, the previous callback is not running and is not called again. At most 1 MiB
/// of lines is kept of one call; further lines are only counted.
///
/// Returns 0; -EINVAL for a bad number; -EDEADLK from within a callback; -EBUSY if a Rust program has a subscriber of its own.
/// Any thread.
///
/// # Safety
/// As the module says; `callback` is as described, and good with `user` until another takes its place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_set_log(level: c_uint, callback: gemco_log_fn, user: *mut c_void) -> c_int {
    run("gemco_set_log", || {
        if filter(level).is_none() {
            return Err(Failure::number("level", level));
        }
        static IS_SET: OnceLock<bool> = OnceLock::new();
        if callback.is_some() && !*IS_SET.get_or_init(|| set_global_default(Log).is_ok()) {
            let why = "cannot be used: the program already has a tracing subscriber";
            return Err(Failure::refused(Errno::EBUSY, "callback", why));
        }
        *SINK.get().write().unwrap_or_else(PoisonError::into_inner) =
            callback.map(|call| Sink { call, user });
        // Relaxed suffices: this is a filter, and publishes no other data.
        LEVEL.store(if callback.is_some() { level } else { 0 }, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
        Ok(0)
    })
}
