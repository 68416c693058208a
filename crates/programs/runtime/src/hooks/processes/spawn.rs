//! posix_spawn(3), system(3) and popen(3): the child has to be intercepted, too.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::environment::{self, Environment};
use super::exec::{is_refused, search};
use crate::hooks::replace;
use crate::paths::Redirected;
use crate::real::real;
use crate::system::sys;

/// The program that runs in place of one that cannot be intercepted: it ends with status 2.
const SHELL: &CStr = c"/bin/sh";
const REFUSED: [&CStr; 3] = [c"sh", c"-c", c"exit 2"];

/// The arguments or the environment of a program: an array that ends with null.
type Strings = *const *const c_char;

/// Starts a program with `spawn`, which gets the path, the arguments and the environment.
///
/// # Safety
/// As posix_spawn(3).
unsafe fn start(
    path: *const c_char,
    arguments: Strings,
    given: Strings,
    is_searched: bool,
    spawn: impl FnOnce(*const c_char, Strings, Strings) -> c_int,
) -> c_int {
    // SAFETY: the caller's obligation.
    unsafe {
        Environment::with(given, |environment| {
            let mut refused = false;
            let mut check = |path| {
                let exists = sys::stat(libc::AT_FDCWD, path, 0).is_ok();
                refused = exists && is_refused(path, environment);
                !exists
            };
            if is_searched {
                search(path, check);
            } else {
                check(path);
            }
            if refused {
                let [name, option, command] = REFUSED.map(CStr::as_ptr);
                let arguments = [name, option, command, std::ptr::null()];
                return spawn(SHELL.as_ptr(), arguments.as_ptr(), environment.as_ptr());
            }
            spawn(path, arguments, environment.as_ptr())
        })
    }
}

/// Returns the path that a file action of a child uses: libc acts on it by itself.
///
/// # Safety
/// `path` is a C string.
unsafe fn for_child(path: *const c_char) -> Redirected {
    // SAFETY: the caller's obligation.
    let (redirected, text) = unsafe { (Redirected::new(path), sys::bytes(path)) };
    let stat = sys::stat(libc::AT_FDCWD, redirected.as_ptr(), 0);
    if redirected.is_ours() && stat.is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFSOCK) {
        sys::give_up(&[b"cannot intercept posix_spawn(3) that opens ", text, b" in the child"]);
    }
    redirected
}

replace! {
    /// Lets a child open a file.
    fn posix_spawn_file_actions_addopen(
        actions: *mut c_void, fd: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t
    ) -> c_int {
        let path = for_child(path);
        real!(posix_spawn_file_actions_addopen: fn(
            actions => *mut c_void, fd => c_int, path.as_ptr() => *const c_char, flags => c_int,
            mode => libc::mode_t
        ) -> c_int)
    }

    /// Lets a child change its current folder.
    fn posix_spawn_file_actions_addchdir_np(actions: *mut c_void, path: *const c_char) -> c_int {
        let path = for_child(path);
        real!(posix_spawn_file_actions_addchdir_np: fn(
            actions => *mut c_void, path.as_ptr() => *const c_char
        ) -> c_int)
    }

    /// Starts a program.
    fn posix_spawn(
        pid: *mut libc::pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: Strings, environment: Strings
    ) -> c_int {
        start(path, arguments, environment, false, |path, arguments, environment| {
            real!(posix_spawn: fn(
                pid => *mut libc::pid_t, path => *const c_char, actions => *const c_void,
                attributes => *const c_void, arguments => Strings, environment => Strings
            ) -> c_int)
        })
    }

    /// Looks for a program, and starts it.
    fn posix_spawnp(
        pid: *mut libc::pid_t, name: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: Strings, environment: Strings
    ) -> c_int {
        start(name, arguments, environment, true, |name, arguments, environment| {
            real!(posix_spawnp: fn(
                pid => *mut libc::pid_t, name => *const c_char, actions => *const c_void,
                attributes => *const c_void, arguments => Strings, environment => Strings
            ) -> c_int)
        })
    }

    /// Runs a command of the shell.
    fn system(command: *const c_char) -> c_int {
        environment::restore();
        real!(system: fn(command => *const c_char) -> c_int)
    }

    /// Runs a command of the shell, with a pipe to it.
    fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE {
        environment::restore();
        real!(popen: fn(command => *const c_char, mode => *const c_char) -> *mut libc::FILE)
    }
}
