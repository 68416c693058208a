//! The start: the server's folder, and the process's number there.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gem_coherency_protocol::{ENVIRONMENT, FOLDER, Request, SOCKET, WANTS_FINDINGS, WANTS_LOADS};
use gem_coherency_trap::watch;

use crate::identity::{self, Caller};
use crate::lock::Lock;
use crate::sys::{self, Blocked};
use crate::{loads, pool, sandbox, sites, stores, talk, traps};

/// Most bytes of a path.
pub(crate) const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// A path in a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    bytes: [u8; PATH_BYTES],
    len: usize,
}

impl Path {
    pub(crate) const EMPTY: Self = Self { bytes: [0; PATH_BYTES], len: 0 };

    /// Adds bytes; returns whether there was room for them and the final zero.
    pub(crate) fn push(&mut self, more: &[u8]) -> bool {
        let end = self.len + more.len();
        match self.bytes.get_mut(self.len..end) {
            Some(room) if end < PATH_BYTES => {
                room.copy_from_slice(more);
                self.len = end;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Removes the last name.
    pub(crate) fn pop(&mut self) {
        let slash = self.as_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        if let Some(rest) = self.bytes.get_mut(slash..self.len) {
            rest.fill(0);
        }
        self.len = slash;
    }

    /// Returns the path, without the final zero.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Returns the path as a C string.
    pub(crate) fn as_ptr(&self) -> *const std::ffi::c_char {
        self.bytes.as_ptr().cast()
    }
}

/// The server: the path of its socket, and its folder of files.
pub(crate) struct Server {
    socket: Path,
    pub(crate) root: Path,
    /// The folder is there.
    has_root: AtomicBool,
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
        let made = talk::exchange(fd, &Request::Folder.with([]));
        sys::close(fd);
        made.map(drop)
    }
}

/// The server, or that there is none.
static SERVER: OnceLock<Option<Server>> = OnceLock::new();

/// The server's number of this process; 0 before the first connection.
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// Held while the first connection is made.
static CONNECTING: Lock<()> = Lock::new(());

thread_local! {
    /// The connection of the child that this thread is creating.
    static CHILD: Cell<c_int> = const { Cell::new(-1) };
}

/// The lowest descriptor of a connection: programs expect theirs to be low numbers.
const FIRST_DESCRIPTOR: c_int = 500;

/// Returns the server; `None` if the program is not to be intercepted.
pub(crate) fn server() -> Option<&'static Server> {
    let found = match SERVER.get() {
        Some(found) => found,
        None => {
            let _signals = Blocked::new();
            SERVER.get_or_init(|| {
                let server = find()?;
                identity::adopt();
                // SAFETY: the functions live as long as the library, which is never unloaded.
                unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
                traps::start();
                Some(server)
            })
        }
    };
    found.as_ref()
}

/// Looks for the server that the environment names.
fn find() -> Option<Server> {
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
    Some(Server { socket, root: path(FOLDER), has_root: AtomicBool::new(false) })
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
    let hello = Request::Hello.with([NUMBER.load(Ordering::Relaxed), identity::pid() as u64]);
    match talk::exchange(fd, &hello) {
        Ok(reply) => {
            NUMBER.store(reply.operands[0], Ordering::Relaxed);
            let wanted = reply.operands[1];
            if wanted & WANTS_FINDINGS != 0 && !sites::is_collecting() {
                collect(fd, wanted);
            }
            Ok(fd)
        }
        Err(errno) => {
            sys::close(fd);
            Err(gone(server, errno))
        }
    }
}

/// Begins to collect what the server wants, and gives it the counts of this process's flushes, and their log, and the table of
/// its first stores.
fn collect(fd: c_int, wanted: u64) {
    let Ok(records) = sites::collect() else { return };
    loads::start(wanted & WANTS_LOADS != 0);
    // A server that does not take them has no counts.
    let _ = talk::exchange_with(fd, &Request::Sites.with([]), &[records]);
    sys::close(records);
    if let Ok(table) = stores::start() {
        let _ = talk::exchange_with(fd, &Request::Stores.with([]), &[table]);
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

/// Keeps other threads from what a child would inherit half done, and asks the server for the child's connection.
pub(crate) extern "C" fn before_fork() {
    traps::pause();
    CHILD.set(child_connection().unwrap_or(-1));
    watch::pause();
}

/// Asks the server for a child's connection.
fn child_connection() -> Option<c_int> {
    // A program that made no request yet has nothing that a child inherits. One that can make none any more may start children
    // that do not, either.
    let can_ask = NUMBER.load(Ordering::Relaxed) != 0 && !sandbox::refuses_requests();
    let server = server().filter(|_| can_ask)?;
    let _signals = Blocked::new();
    let (_, descriptors) = talk::request(server, &Request::Fork.with([])).ok()?;
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
        CONNECTING.reset();
        crate::mappings::reset();
        crate::user_memory::reset();
    }
    sites::reset();
    let fd = CHILD.replace(-1);
    adopt(0);
    if fd < 0 {
        return;
    }
    let _signals = Blocked::new();
    let child = Request::Child.with([]);
    match talk::exchange(fd, &child) {
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
    part(0);
}

/// Tells a server that collects findings that the process is about to close the file with a cookie, or with 0 to end.
pub(crate) fn part(cookie: u64) {
    let is_process = || matches!(identity::of_caller(), Caller::Process);
    let Some(server) = server().filter(|_| sites::is_collecting() && is_process()) else { return };
    // A server that is gone, and one to which the file does not belong, notes nothing.
    if let Ok((_, descriptors)) = talk::request(server, &Request::Parting.with([cookie])) {
        descriptors.close();
    }
}
