//! Sends the library's events to a callback of C.

use std::ffi::{c_char, c_int, c_uint, c_void};

use gem_coherency::Errno;

use super::device::{gemco_device, open_device};
use super::error::{Failure, run};
use super::events::sink::{PROCESS, Sink};
use super::events::{filter, subscribe};

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
    if callback.is_some() && !subscribe() {
        let why = "cannot be used: the program already has a tracing subscriber";
        return Err(Failure::refused(Errno::EBUSY, "callback", why));
    }
    Ok(callback.map(|call| Sink { call, user, level }))
}
