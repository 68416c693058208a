//! Passes the library's events to a callback of C.
//!
//! Events are created under the library's locks, so a callback must not run there. A call collects its lines,
//! and passes them on after its work is done and its locks are released ([`during`]). So a callback can query
//! the library. They go to the callback of the device whose object the call was given first ([`concerns`]), if it has one,
//! and otherwise to the process's.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fmt::{self, Write};
use std::mem::ManuallyDrop;
use std::sync::{Arc, OnceLock};

use gem_coherency::Errno;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

use super::device::{gemco_device, open_device};
use super::error::{Failure, run};
use super::objects::Owner;
use super::sink::{LEVELS, PROCESS, Receiver, Sink, highest};

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
/// user: the pointer that was given with the callback.
pub type gemco_log_fn = Option<unsafe extern "C" fn(level: c_uint, text: *const c_char, user: *mut c_void)>;

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

/// Sends the library's events to `callback`, from now on, for the whole process, except those of devices with a callback of
/// their own (gemco_device_set_log); NULL ends that.
///
/// level: a gemco_log_level; less severe events are not formatted.
/// callback: called at the end of each call that has lines, on that call's thread, once for each line; possibly by
/// several threads at once. The library holds none of its locks then. The callback must return (no longjmp, no
/// exception). It may call the functions that only query: those about platforms, rules, decisions, cache lines of
/// its own memory and the last error, gemco_eu_validate, gemco_explain, gemco_job_reports, gemco_device_platform,
/// _fd, _mocs, _open_counts, _reuse_stats and _ref, gemco_bo_handle, _size, _level, _map_mode, _lines, _busy and
/// _ref. Every other function returns -EDEADLK there and does nothing; one without a result does nothing either.
/// Calls by a callback are not logged. Once this function has returned, the previous callback is not running and is
/// not called again. At most 1 MiB of lines is kept of one call; further lines are only counted.
///
/// Returns 0; -EINVAL for a bad number; -EDEADLK from within a callback; -EBUSY if a Rust program has a subscriber of its own.
/// Any thread.
///
/// # Safety
/// As the module says; `callback` is as described, and good with `user` until another takes its place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_set_log(level: c_uint, callback: gemco_log_fn, user: *mut c_void) -> c_int {
    run("gemco_set_log", || {
        PROCESS.get().replace(sink(level, callback, user)?);
        Ok(0)
    })
}

/// Sends the events of calls about one device to `callback`, from now on, in place of the callback of gemco_set_log; NULL
/// ends that. These are the calls whose first object is the device, or a BO or another object that was made on it.
///
/// level, callback, user: as for gemco_set_log, with the same rules. With GEMCO_LOG_OFF and a callback nothing of the device
/// is logged. Releasing the last reference to the device ends it, too: later calls about its BOs are logged by the callback
/// of gemco_set_log. What gemco_device_open logs goes there as well.
///
/// Returns as gemco_set_log. Any thread.
///
/// # Safety
/// As the module says; `callback` is as described, and good with `user` until another takes its place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_set_log(
    device: *const gemco_device,
    level: c_uint,
    callback: gemco_log_fn,
    user: *mut c_void,
) -> c_int {
    run("gemco_device_set_log", || {
        // SAFETY: a device: the caller's obligation.
        let device = unsafe { open_device(device) }?;
        device.owner.log.get()?.replace(sink(level, callback, user)?);
        Ok(0)
    })
}

/// Checks a callback from C, and makes the library's events available to it.
fn sink(level: c_uint, callback: gemco_log_fn, user: *mut c_void) -> Result<Option<Sink>, Failure> {
    if filter(level).is_none() {
        return Err(Failure::number("level", level));
    }
    static IS_SET: OnceLock<bool> = OnceLock::new();
    if callback.is_some() && !*IS_SET.get_or_init(|| set_global_default(Log).is_ok()) {
        let why = "cannot be used: the program already has a tracing subscriber";
        return Err(Failure::refused(Errno::EBUSY, "callback", why));
    }
    Ok(callback.map(|call| Sink { call, user, level }))
}
