//! The environment of children: they are intercepted, too, even if the program cleared the variables.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use gem_coherency_protocol::{ENVIRONMENT, FOLDER, TEST};

use crate::server::connection::Server;
use crate::start;
use crate::system::path::Path;
use crate::system::sys;

/// The variable of the dynamic linker.
const PRELOAD: &[u8] = b"LD_PRELOAD";

/// The path of this library.
static OWN: OnceLock<Path> = OnceLock::new();

/// Finds the path of this library when it is loaded: the dynamic linker's lock must not be taken in a child.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = find_own_path;

extern "C" fn find_own_path() {
    OWN.get_or_init(|| {
        let mut path = Path::EMPTY;
        // SAFETY: all zeroes is such a struct; the address is one of this library.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        let address = find_own_path as *const std::ffi::c_void;
        // SAFETY: as above; the name lives as long as the library.
        unsafe {
            if libc::dladdr(address, &raw mut found) != 0 {
                path.push(sys::bytes(found.dli_fname));
            }
        }
        path
    });
}

/// Pointers in memory of their own, which are unmapped with it: a child of vfork(2) must not call malloc(3).
pub(super) struct Pointers {
    room: *mut *const c_char,
    most: usize,
    count: usize,
}

impl Pointers {
    /// Creates an array for `most` pointers and the null that ends it.
    pub(super) fn new(most: usize) -> Option<Self> {
        let len = (most + 1) * size_of::<*const c_char>();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping; nothing is replaced.
        let room =
            unsafe { sys::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        Some(Self { room: room.ok()?.cast(), most, count: 0 })
    }

    /// Adds a pointer, for which there is room.
    pub(super) fn push(&mut self, pointer: *const c_char) {
        if self.count < self.most {
            // SAFETY: there is room for it.
            unsafe { self.room.add(self.count).write(pointer) };
            self.count += 1;
        }
    }

    /// Returns the array, which ends with null.
    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.room
    }
}

impl Drop for Pointers {
    fn drop(&mut self) {
        // SAFETY: it was mapped here.
        let _ = unsafe { sys::munmap(self.room.cast(), (self.most + 1) * size_of::<*const c_char>()) };
    }
}

/// Returns the number of pointers before the null.
///
/// # Safety
/// `array` is null, or an array that ends with null.
pub(super) unsafe fn count(array: *const *const c_char) -> usize {
    // SAFETY: the caller's obligation.
    let is_there = |n: usize| unsafe { !(*array.add(n)).is_null() };
    if array.is_null() { 0 } else { (0..).take_while(|&n| is_there(n)).count() }
}

/// Returns the value of an entry of the environment if the entry is the variable `name`.
fn value_of<'a>(entry: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    entry.strip_prefix(name)?.strip_prefix(b"=")
}

/// The environment of a child.
pub(super) struct Environment {
    given: *const *const c_char,
    replaced: Option<Pointers>,
    /// The child is to be intercepted.
    pub(super) is_ours: bool,
    // The pointers lead here, so that it must not move: see `with`.
    preload: Path,
    server: Path,
    test: Path,
}

impl Environment {
    /// Calls `run` with the environment of a child to which `given` is passed.
    ///
    /// The child has the variables that name this library and the server, unless `given` sets the server's to nothing.
    ///
    /// # Safety
    /// `given` is null, or an array of C strings that ends with null.
    pub(super) unsafe fn with<T>(given: *const *const c_char, run: impl FnOnce(&Self) -> T) -> T {
        let (preload, server, test) = (Path::EMPTY, Path::EMPTY, Path::EMPTY);
        let mut this = Self { given, replaced: None, is_ours: false, preload, server, test };
        if let Some(own) = start::server() {
            // SAFETY: the caller's obligation.
            unsafe { this.complete(own) };
        }
        run(&this)
    }

    /// Returns the array to pass.
    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.replaced.as_ref().map_or(self.given, Pointers::as_ptr)
    }

    /// Adds the variables that are missing.
    ///
    /// # Safety
    /// As [`Self::with`]; it does not move while the array is used.
    unsafe fn complete(&mut self, server: &Server) {
        let own = OWN.get().map_or(b"".as_slice(), Path::as_bytes);
        // SAFETY: the caller's obligation.
        let (count, entry) =
            unsafe { (count(self.given), |n: usize| (*self.given.add(n), sys::bytes(*self.given.add(n)))) };
        let find = |name: &[u8]| (0..count).find_map(|n| value_of(entry(n).1, name));
        let (loaded, named) = (find(PRELOAD), find(ENVIRONMENT.as_bytes()));
        let lacks_test = !server.test.as_bytes().is_empty() && find(TEST.as_bytes()).is_none();
        self.is_ours = named != Some(b"");
        let separators = |&byte: &u8| byte == b':' || byte == b' ';
        let is_loaded = loaded.is_some_and(|list| list.split(separators).any(|one| one == own));
        if !self.is_ours || own.is_empty() || (is_loaded && named.is_some() && !lacks_test) {
            return;
        }
        let Some(mut array) = Pointers::new(count + 3) else { return };
        for n in 0..count {
            let (pointer, text) = entry(n);
            if is_loaded || value_of(text, PRELOAD).is_none() {
                array.push(pointer);
            }
        }
        if !is_loaded {
            let others = loaded.filter(|list| !list.is_empty());
            let list = &mut self.preload;
            let fits = [PRELOAD, b"=", own].iter().all(|part| list.push(part))
                && others.is_none_or(|others| list.push(b":") && list.push(others));
            if !fits {
                sys::give_up(&[PRELOAD, b" of a child is too long"]);
            }
            array.push(list.as_ptr());
        }
        if named.is_none() {
            let root = server.root.as_bytes();
            let folder = root.strip_suffix(FOLDER.as_bytes()).unwrap_or(root);
            let folder = folder.strip_suffix(b"/").unwrap_or(folder);
            let all = [ENVIRONMENT.as_bytes(), b"=", folder].iter().all(|part| self.server.push(part));
            if !all {
                sys::give_up(&[ENVIRONMENT.as_bytes(), b" of a child is too long"]);
            }
            array.push(self.server.as_ptr());
        }
        // As long as a name that this process got.
        if lacks_test
            && [TEST.as_bytes(), b"=", server.test.as_bytes()].iter().all(|part| self.test.push(part))
        {
            array.push(self.test.as_ptr());
        }
        self.replaced = Some(array);
    }
}

/// Puts the variables that the program removed back into its own environment, which a function of libc passes on.
///
/// # Safety
/// No other thread changes the environment.
pub(super) unsafe fn restore() {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: the caller's obligation; the names and values are C strings, which setenv(3) copies.
    unsafe {
        Environment::with(environ, |environment| {
            if environment.replaced.is_none() {
                return;
            }
            for path in [&environment.preload, &environment.server, &environment.test] {
                let text = path.as_bytes();
                let Some(at) = text.iter().position(|&byte| byte == b'=') else { continue };
                let mut name = Path::EMPTY;
                name.push(text.get(..at).unwrap_or_default());
                libc::setenv(name.as_ptr(), path.as_ptr().add(at + 1), 1);
            }
        });
    }
}

/// Returns a variable of the program's environment, as a C string.
///
/// # Safety
/// No other thread changes the environment.
pub(super) unsafe fn own(name: &CStr) -> *const c_char {
    // SAFETY: the caller's obligation.
    unsafe { libc::getenv(name.as_ptr()) }
}
