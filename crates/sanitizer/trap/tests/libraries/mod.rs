//! Libraries that the tests compile and load, and a handler that records its events.
#![allow(dead_code)]

pub mod assembly;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gem_coherency_trap::scan::Search;
use gem_coherency_trap::{Event, Kind, NEAREST, Options, Outcome, Report};

/// Compiles a shared library, in a file of its own.
///
/// Panics if there is no C compiler: the tests prove nothing without one.
pub fn compile(name: &str, language: &str, source: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (from, to) = (folder.join(format!("{name}.{language}")), folder.join(format!("lib{name}.so")));
    std::fs::write(&from, source).expect("the source is written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&to, &from])
        .args(flags)
        .output()
        .unwrap_or_else(|error| panic!("these tests need a C compiler: {compiler}: {error}"));
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    to
}

/// A loaded library.
pub struct Library(usize);

impl Library {
    pub fn open(path: &Path) -> Library {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the libraries of the tests have no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} cannot be loaded");
        Library(handle.expose_provenance())
    }

    pub fn symbol(&self, name: &str) -> usize {
        let name = CString::new(name).unwrap();
        // SAFETY: the handle is open.
        let address = unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut(self.0), name.as_ptr()) };
        assert!(!address.is_null(), "no symbol {name:?}");
        address.expose_provenance()
    }

    /// Calls a function of the library, which takes up to three integers or addresses.
    pub fn call(&self, name: &str, arguments: [usize; 3]) -> usize {
        // SAFETY: the tests pass what their functions take.
        let function: extern "C" fn(usize, usize, usize) -> usize =
            unsafe { std::mem::transmute(self.symbol(name)) };
        function(arguments[0], arguments[1], arguments[2])
    }

    pub fn close(self) {
        // SAFETY: the tests hold no references into the library.
        assert_eq!(unsafe { libc::dlclose(std::ptr::with_exposed_provenance_mut(self.0)) }, 0);
    }
}

/// The newest event, and the number of events.
pub static COUNT: AtomicUsize = AtomicUsize::new(0);
pub static SITE: AtomicUsize = AtomicUsize::new(0);
pub static ADDRESS: AtomicUsize = AtomicUsize::new(0);
pub static KIND: AtomicUsize = AtomicUsize::new(0);
pub static BYTE_COUNT: AtomicUsize = AtomicUsize::new(0);
pub static BYTES: [AtomicU8; 64] = [const { AtomicU8::new(0) }; 64];
/// The value that the handler returns: `Perform`, or `Done`.
pub static PERFORM: AtomicBool = AtomicBool::new(false);
/// Call stack of the newest event.
pub static DEPTH: AtomicUsize = AtomicUsize::new(0);
pub static FRAMES: [AtomicUsize; 32] = [const { AtomicUsize::new(0) }; 32];

/// Number of events whose nearest callers are not the first ones of the call stack.
pub static DIFFERENT: AtomicUsize = AtomicUsize::new(0);

/// Records the event.
pub fn record(event: &Event<'_>) -> Outcome {
    SITE.store(event.site, SeqCst);
    ADDRESS.store(event.address, SeqCst);
    KIND.store(event.kind as usize, SeqCst);
    BYTE_COUNT.store(event.bytes.len(), SeqCst);
    for (place, byte) in BYTES.iter().zip(event.bytes) {
        place.store(*byte, SeqCst);
    }
    let mut frames = [0; 32];
    DEPTH.store(event.callers(&mut frames), SeqCst);
    let mut nearest = [0; NEAREST];
    let depth = event.nearest_callers(&mut nearest);
    let is_same = depth == NEAREST.min(DEPTH.load(SeqCst)) && frames[..depth] == nearest[..depth];
    DIFFERENT.fetch_add(usize::from(!is_same), SeqCst);
    for (place, frame) in FRAMES.iter().zip(frames) {
        place.store(frame, SeqCst);
    }
    COUNT.fetch_add(1, SeqCst);
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = 4711 };
    if PERFORM.load(SeqCst) { Outcome::Perform } else { Outcome::Done }
}

/// The recorded call stack.
pub fn frames() -> Vec<usize> {
    FRAMES.iter().take(DEPTH.load(SeqCst)).map(|frame| frame.load(SeqCst)).collect()
}

/// The bytes of the newest store.
pub fn bytes() -> Vec<u8> {
    BYTES.iter().take(BYTE_COUNT.load(SeqCst)).map(|byte| byte.load(SeqCst)).collect()
}

/// Number of a kind, as [`KIND`] has it.
pub fn number(kind: Kind) -> usize {
    kind as usize
}

/// Traps everything, except the test's own program.
pub fn install() -> Report {
    let options = Options { own: record as *const () as usize, search: Search::All };
    gem_coherency_trap::install(record, options).expect("traps are installed")
}

/// One test at a time: traps and handlers are the process's.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Name of the function that has the address, by the dynamic symbol tables.
pub fn name(address: usize) -> String {
    // SAFETY: the structure is plain data, and dladdr fills it.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(std::ptr::with_exposed_provenance(address), &raw mut info) == 0
            || info.dli_sname.is_null()
        {
            return String::new();
        }
        std::ffi::CStr::from_ptr(info.dli_sname).to_string_lossy().into_owned()
    }
}

/// Runs `work` in a child process, and returns the signal that ended it, or 0.
pub fn child(work: impl FnOnce()) -> i32 {
    // SAFETY: the child only makes system calls and calls functions that do not allocate.
    unsafe {
        let process = libc::fork();
        if process == 0 {
            let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
            work();
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
        if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
    }
}
