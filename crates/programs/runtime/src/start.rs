//! The start of the library, forks of the process, and its end.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use gem_coherency_protocol::Request;
use gem_coherency_trap::watch;

use crate::loads;
use crate::mapped::{epochs, mappings, sites, traps, user_memory};
use crate::server::connection::{self, Beginning, Server};
use crate::server::requests;
use crate::system::identity::{self, Caller};
use crate::system::sandbox;
use crate::system::sys::{self, Blocked};

thread_local! {
    /// The connection of the child that this thread is creating.
    static CHILD: Cell<c_int> = const { Cell::new(-1) };
}

/// What a process begins with when it has found the server, and when the server wants findings.
static BEGINNING: Beginning = Beginning { intercept, see_loads: loads::start };

/// Returns the server; `None` if the program is not to be intercepted. The first call looks for it.
pub(crate) fn server() -> Option<&'static Server> {
    connection::find_once(&BEGINNING)
}

/// Prepares the process for forks, and traps the program's flushes.
fn intercept() {
    // SAFETY: the functions live as long as the library, which is never unloaded.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
    traps::start();
    // SAFETY: as above.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}

unsafe extern "C" {
    /// Calls a function with the exit status when the process exits (on_exit(3)).
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    before_exit(status);
}

/// Tells a server that wants to know it that the process exits with a status, or executes another program: 0.
pub(crate) fn before_exit(status: c_int) {
    let is_process = || matches!(identity::of_caller(), Caller::Process);
    let Some(server) = server().filter(|_| connection::tells_exits() && is_process()) else { return };
    // A server that is gone counts no tests.
    if let Ok((_, descriptors)) = requests::make(server, &Request::Exit.with([status as u32 as u64])) {
        descriptors.close();
    }
}

/// Keeps other threads from what a child would inherit half done, and asks the server for the child's connection.
pub(crate) extern "C" fn before_fork() {
    epochs::drain();
    traps::pause();
    CHILD.set(child_connection().unwrap_or(-1));
    watch::pause();
}

/// Asks the server for a child's connection.
fn child_connection() -> Option<c_int> {
    // A program that made no request yet has nothing that a child inherits. One that can make none any more may start children
    // that do not, either.
    let can_ask = connection::is_known() && !sandbox::refuses_requests();
    let server = server().filter(|_| can_ask)?;
    let _signals = Blocked::new();
    let (_, descriptors) = requests::make(server, &Request::Fork.with([])).ok()?;
    descriptors.as_slice().first().copied()
}

/// Closes the parent's copy of the child's connection.
pub(crate) extern "C" fn after_fork() {
    watch::resume();
    traps::resume();
    let fd = CHILD.replace(-1);
    if fd >= 0 {
        sys::close(fd);
    }
}

/// Makes the child a process of its own.
pub(crate) extern "C" fn in_child() {
    watch::resume();
    traps::resume();
    // SAFETY: this is the only thread of a new process, and it holds no lock.
    unsafe {
        connection::reset();
        mappings::reset();
        epochs::reset();
        user_memory::reset();
    }
    sites::reset();
    connection::begin_child(CHILD.replace(-1));
}

/// Finds the server when the library is loaded, before the program starts threads.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    server();
}

/// Tells the server that the process ends, after the functions that the program gave to atexit(3).
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = at_end;

extern "C" fn at_end() {
    before_exit_or_close(0);
}

/// Tells a server that collects findings that the process is about to close the file with a cookie, or to exit: 0.
pub(crate) fn before_exit_or_close(cookie: u64) {
    let is_process = || matches!(identity::of_caller(), Caller::Process);
    let Some(server) = server().filter(|_| sites::is_collecting() && is_process()) else { return };
    // A server that is gone, and one to which the file does not belong, notes nothing.
    if let Ok((_, descriptors)) = requests::make(server, &Request::BeforeExitOrClose.with([cookie])) {
        descriptors.close();
    }
}
