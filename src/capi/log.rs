//! The library's events on their way to a callback of C's.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use nix::errno::Errno;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

use super::error::{Failure, run};

/// How much is logged; what is worse than a level is, too.
#[repr(C)]
pub enum gemco_log_level {
    /// Nothing.
    GEMCO_LOG_OFF = 0,
    /// What failed and nobody else says.
    GEMCO_LOG_ERROR = 1,
    /// What surprises: an unknown PCI id, a handle that would not close.
    GEMCO_LOG_WARN = 2,
    /// Landmarks.
    GEMCO_LOG_INFO = 3,
    /// Requests and decisions: handle, step, verdict, rule, lines, bytes.
    GEMCO_LOG_DEBUG = 4,
    /// Flushes and fences.
    GEMCO_LOG_TRACE = 5,
}

/// A function that gets the library's events: level is a gemco_log_level, text a line without a newline, which is valid
/// during the call only; user is what gemco_set_log was given.
pub type gemco_log_fn = Option<unsafe extern "C" fn(level: c_uint, text: *const c_char, user: *mut c_void)>;

/// Where events go.
#[derive(Clone, Copy)]
struct Sink {
    call: unsafe extern "C" fn(c_uint, *const c_char, *mut c_void),
    user: *mut c_void,
}

// SAFETY: the pointer is only handed to the callback, which may be called on any thread: C was told.
unsafe impl Send for Sink {}
// SAFETY: as for `Send`.
unsafe impl Sync for Sink {}

static SINK: RwLock<Option<Sink>> = RwLock::new(None);
static LEVEL: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Whether the callback is running, on this thread.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A level as C has it.
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

/// The filter that C names by `number`.
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

/// Hands events to the sink; spans are left out.
struct Log;

impl Subscriber for Log {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        // The level may change.
        Interest::sometimes()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // Relaxed: a filter; nothing is published by it.
        filter(LEVEL.load(Ordering::Relaxed))
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Relaxed: as above.
        metadata.is_event() && number(*metadata.level()) <= LEVEL.load(Ordering::Relaxed)
    }

    fn new_span(&self, _attributes: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}

    fn event(&self, event: &Event<'_>) {
        // What the callback itself brings about is not logged.
        if IS_INSIDE.get() {
            return;
        }
        let sink = SINK.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Sink { call, user }) = *sink else { return };
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        line.0.retain(|character| character != '\0');
        let Ok(text) = CString::new(line.0) else { return };
        IS_INSIDE.set(true);
        // SAFETY: the function and its pointer are good until another takes their place, which waits for this lock.
        unsafe { call(number(*event.metadata().level()), text.as_ptr(), user) };
        IS_INSIDE.set(false);
    }
}

/// The words of an event: its target, its message, its fields.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A string takes everything.
        let _ = match field.name() {
            "message" => write!(self.0, ": {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

/// Sends the library's events to `callback`, from now on, for the whole process; NULL ends it.
///
/// level: a gemco_log_level, which is also the least that is worth the cost of a line.
/// callback: may be called on any thread, several at once. It may ask the library about platforms, rules and BOs, but nothing that
/// accesses, submits, waits or gives back, and must return (no longjmp, no exception). Once this function has returned, the callback that was set before is not running, and will not be called
/// again.
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
            return Err(Failure::Number { name: "level", value: level });
        }
        if IS_INSIDE.get() {
            let why = "is being called: it cannot be changed from within";
            return Err(Failure::Argument { errno: Errno::EDEADLK, name: "callback", why });
        }
        static IS_SET: OnceLock<bool> = OnceLock::new();
        if callback.is_some() && !*IS_SET.get_or_init(|| set_global_default(Log).is_ok()) {
            let why = "has no place: the program has a tracing subscriber already";
            return Err(Failure::Argument { errno: Errno::EBUSY, name: "callback", why });
        }
        *SINK.write().unwrap_or_else(PoisonError::into_inner) = callback.map(|call| Sink { call, user });
        // Relaxed: a filter; nothing is published by it.
        LEVEL.store(if callback.is_some() { level } else { 0 }, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
        Ok(0)
    })
}
