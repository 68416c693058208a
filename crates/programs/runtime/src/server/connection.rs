//! The server's socket and folder, the connections to it, and the process's number there.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gem_coherency_protocol::{
    BUILD, ENVIRONMENT, FOLDER, OTHER_BUILD, Request, SOCKET, TEST, WANTS_EPOCHS, WANTS_EXITS,
    WANTS_FINDINGS, WANTS_LOADS,
};

use super::{exchange, pool};
use crate::mapped::{epochs, sites, stores, traps};
use crate::system::identity::{self, Caller};
use crate::system::lock::Lock;
use crate::system::path::Path;
use crate::system::sandbox;
use crate::system::sys::{self, Blocked};

/// The server: the path of its socket, and its folder of files.
pub(crate) struct Server {
    socket: Path,
    pub(crate) root: Path,
    /// The name of the program's test; empty without one.
    pub(crate) test: Path,
    /// The folder is there.
    has_root: AtomicBool,
    beginning: &'static Beginning,
}

/// What the process does at the times at which the library begins to work, besides what the connection needs.
pub(crate) struct Beginning {
    /// Intercepts the program, once the server is found.
    pub(crate) intercept: fn(),
    /// Begins to look at loads, when the server collects findings; `true` if it wants the first load of each line.
    pub(crate) see_loads: fn(bool),
}

impl Server {
    /// Asks the server for its folder, which it makes when the first program looks at what is there.
    pub(crate) fn make_root(&self) {
        // Relaxed: the kernel orders what is in the folder.
        if self.has_root.load(Ordering::Relaxed) {
            return;
        }
        let root = || sys::stat(libc::AT_FDCWD, self.root.as_ptr(), 0);
        let made = match sandbox::needs(libc::SYS_newfstatat, root) {
            Ok(_) => Ok(()),
            Err(_) => self.ask_for_root(),
        };
        match made {
            Ok(()) => self.has_root.store(true, Ordering::Relaxed),
            // The server has ended, or is hidden from this process: the path leads to nothing.
            Err(
                libc::ENOENT
                | libc::ENODEV
                | libc::ECONNREFUSED
                | libc::ECONNRESET
                | libc::EPIPE
                | libc::EACCES
                | libc::EPERM,
            ) => {}
            // Otherwise a program would find no devices, and not say why.
            Err(libc::EMFILE | libc::ENFILE) => {
                sys::give_up(&[self.root.as_bytes(), b": no descriptor is left to ask the server for it"])
            }
            Err(_) => sys::give_up(&[self.root.as_bytes(), b": the server cannot make this folder"]),
        }
    }

    /// Asks on a connection of its own: the process may be none that the server knows.
    fn ask_for_root(&self) -> Result<(), c_int> {
        sandbox::require_requests();
        let _signals = Blocked::new();
        let fd = sys::connect(self.socket.as_bytes())?;
        let made = exchange::exchange(fd, &Request::Folder.with([]));
        sys::close(fd);
        made.map(drop)
    }
}

/// Bytes of a name that is too long that are shown.
const SHOWN_NAME: usize = 64;

/// The server, or that there is none.
static SERVER: OnceLock<Option<Server>> = OnceLock::new();

/// The server's number of this process; 0 before the first connection.
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// The server wants to know how the process exits.
static WANTS_TO_KNOW_EXITS: AtomicBool = AtomicBool::new(false);
/// Held while the first connection is made.
static CONNECTING: Lock<()> = Lock::new(());

/// The lowest descriptor of a connection: programs expect theirs to be low numbers.
const FIRST_DESCRIPTOR: c_int = 500;

/// Returns the server; `None` if the program is not to be intercepted. The first call looks for it, and begins as `beginning` says.
pub(crate) fn find_once(beginning: &'static Beginning) -> Option<&'static Server> {
    let found = match SERVER.get() {
        Some(found) => found,
        None => {
            let _signals = Blocked::new();
            SERVER.get_or_init(|| {
                let server = find(beginning)?;
                identity::adopt();
                (beginning.intercept)();
                Some(server)
            })
        }
    };
    found.as_ref()
}

/// Returns the server, if it was found.
pub(crate) fn found() -> Option<&'static Server> {
    SERVER.get()?.as_ref()
}

/// Looks for the server that the environment names.
fn find(beginning: &'static Beginning) -> Option<Server> {
    let name = ENVIRONMENT.as_bytes();
    // SAFETY: the library is being loaded, so no other thread changes the environment.
    let folder = unsafe { variable(name) }.filter(|folder| !folder.is_empty())?;
    let path = |last: &str| {
        let mut path = Path::EMPTY;
        if !(path.push(folder) && path.push(b"/") && path.push(last.as_bytes())) {
            sys::give_up(&[name, b"=", folder, b": the path is too long"]);
        }
        path
    };
    let socket = path(SOCKET);
    // Otherwise a program would find no devices, and not say why.
    let socket_of = || sys::stat(libc::AT_FDCWD, socket.as_ptr(), 0);
    if sandbox::needs(libc::SYS_newfstatat, socket_of).is_err() {
        sys::give_up(&[socket.as_bytes(), b": no server listens there"]);
    }
    let mut test = Path::EMPTY;
    // SAFETY: as above.
    if let Some(name) = unsafe { variable(TEST.as_bytes()) }
        && !test.push(name)
    {
        let start = name.get(..SHOWN_NAME).unwrap_or(name);
        sys::give_up(&[TEST.as_bytes(), b"=", start, b"...: the name is longer than 4095 bytes"]);
    }
    Some(Server { socket, root: path(FOLDER), test, has_root: AtomicBool::new(false), beginning })
}

/// Returns a variable of the environment.
///
/// # Safety
/// No other thread changes the environment.
unsafe fn variable(name: &[u8]) -> Option<&'static [u8]> {
    unsafe extern "C" {
        static environ: *const *const std::ffi::c_char;
    }
    // SAFETY: an array of C strings that ends with null.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = sys::bytes(*entry);
            if let Some(value) = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"=")) {
                return Some(value);
            }
            entry = entry.add(1);
        }
    }
    None
}

/// Returns an idle connection to the server, or a new one.
///
/// # Errors
/// ENODEV if the server is gone.
pub(crate) fn connection(server: &Server) -> Result<c_int, c_int> {
    match identity::of_caller() {
        Caller::Process => match pool::take() {
            Some(fd) => Ok(fd),
            None => connect(server).inspect(|&fd| pool::keep(fd)),
        },
        // Its descriptors are not the parent's, to whom the pool belongs: a connection for one request.
        Caller::Sharer => connect(server),
        Caller::Copy if NUMBER.load(Ordering::Relaxed) == 0 => {
            adopt(0);
            connect(server).inspect(|&fd| pool::keep(fd))
        }
        Caller::Copy => sys::give_up(&[
            b"this process is a copy of one that used a device, made by a system call that could not be intercepted",
        ]),
    }
}

/// Begins as another process, which the server knows by `number`, or not yet.
fn adopt(number: u64) {
    pool::abandon();
    NUMBER.store(number, Ordering::Relaxed);
    identity::adopt();
}

/// Returns a number as text.
fn hexadecimal(number: u64) -> [u8; 16] {
    std::array::from_fn(|at| b"0123456789abcdef"[(number >> (60 - 4 * at) & 15) as usize])
}

/// Returns whether the server knows the process, and wants to know how it exits.
pub(crate) fn tells_exits() -> bool {
    // Relaxed: as above.
    WANTS_TO_KNOW_EXITS.load(Ordering::Relaxed)
}

/// Returns whether the server knows the process.
pub(crate) fn is_known() -> bool {
    NUMBER.load(Ordering::Relaxed) != 0
}

/// Lets connections be made in a child process, in whose parent another thread may have made one.
///
/// # Safety
/// The process has one thread, which makes no connection.
pub(crate) unsafe fn reset() {
    // SAFETY: the caller's obligation.
    unsafe { CONNECTING.reset() };
}

/// Begins as a child, with the connection that its parent asked for, or -1.
pub(crate) fn begin_child(fd: c_int) {
    adopt(0);
    if fd < 0 {
        return;
    }
    let _signals = Blocked::new();
    let child = Request::Child.with([]);
    match exchange::exchange(fd, &child) {
        Ok(reply) => {
            NUMBER.store(reply.operands[0], Ordering::Relaxed);
            let high = sys::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
            if high.is_ok() {
                sys::close(fd);
            }
            let fd = high.unwrap_or(fd);
            pool::keep(fd);
            pool::give(fd);
        }
        Err(_) => sys::close(fd),
    }
}

/// Connects, and says which process this is.
fn connect(server: &Server) -> Result<c_int, c_int> {
    let _alone = CONNECTING.hold();
    let low = sys::connect(server.socket.as_bytes()).map_err(|errno| gone(server, errno))?;
    let fd = match sys::fcntl(low, libc::F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR) {
        Ok(high) => {
            sys::close(low);
            high
        }
        // So few descriptors are allowed.
        Err(_) => low,
    };
    let hello = Request::Hello.with([NUMBER.load(Ordering::Relaxed), identity::pid() as u64, BUILD]);
    match exchange::say(fd, &hello, server.test.as_bytes()) {
        Ok(reply) if reply.errno == OTHER_BUILD => sys::give_up(&[
            b"the server is of another build (",
            &hexadecimal(reply.operands[2]),
            b") than this library (",
            &hexadecimal(BUILD),
            b"): use the library beside gemtool",
        ]),
        Ok(reply) if reply.errno != 0 => {
            sys::close(fd);
            Err(gone(server, reply.errno))
        }
        Ok(reply) => {
            NUMBER.store(reply.operands[0], Ordering::Relaxed);
            let wanted = reply.operands[1];
            // Relaxed: a flag; it publishes no other data.
            WANTS_TO_KNOW_EXITS.store(wanted & WANTS_EXITS != 0, Ordering::Relaxed);
            if wanted & WANTS_FINDINGS != 0 && !sites::is_collecting() {
                collect(server, fd, wanted);
            }
            Ok(fd)
        }
        Err(errno) => {
            sys::close(fd);
            Err(gone(server, errno))
        }
    }
}

/// Begins to collect what the server wants, and gives it the counts of this process's flushes, and their log, and the tables of
/// its stores.
fn collect(server: &Server, fd: c_int, wanted: u64) {
    let Ok(records) = sites::collect() else { return };
    (server.beginning.see_loads)(wanted & WANTS_LOADS != 0);
    // A server that does not take them has no counts.
    let _ = exchange::exchange_with(fd, &Request::Sites.with([]), &[records]);
    sys::close(records);
    if let Ok(table) = stores::start() {
        let _ = exchange::exchange_with(fd, &Request::Stores.with([]), &[table]);
        sys::close(table);
    }
    if wanted & WANTS_EPOCHS != 0
        && let Ok(table) = epochs::start()
    {
        traps::see_fences();
        let _ = exchange::exchange_with(fd, &Request::Epochs.with([]), &[table]);
        sys::close(table);
    }
}

/// Says that the server cannot be reached; at the start, ends the process.
fn gone(server: &Server, errno: c_int) -> c_int {
    if NUMBER.load(Ordering::Relaxed) == 0 {
        let reason: &[u8] = match errno {
            libc::ENOENT | libc::ECONNREFUSED | libc::ECONNRESET => b"no server listens there",
            libc::EACCES | libc::EPERM => b"the server belongs to another user",
            libc::EMFILE | libc::ENFILE => b"no descriptor is left",
            _ => b"the server cannot be reached",
        };
        sys::give_up(&[server.socket.as_bytes(), b": ", reason]);
    }
    libc::ENODEV
}
