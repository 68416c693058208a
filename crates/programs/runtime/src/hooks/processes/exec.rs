//! execve(2) and its kin: the new program has to be intercepted, too.

use std::ffi::{CStr, c_char, c_int};

use gem_coherency_protocol::call;

use super::environment::{Environment, Pointers, count, own};
use super::executable;
use crate::hooks::replace;
use crate::start;
use crate::system::path::Path;
use crate::system::sys;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The path of programs if the environment has none, as libc has it.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

const SHELL: &CStr = c"/bin/sh";

/// The arguments or the environment of a program: an array that ends with null.
type Strings = *const *const c_char;

/// Says why a program cannot be intercepted, if there is a reason; returns whether there is.
///
/// # Safety
/// `path` is a C string.
pub(super) unsafe fn is_refused(path: *const c_char, environment: &Environment) -> bool {
    if path.is_null() || !environment.is_ours {
        return false;
    }
    // SAFETY: the caller's obligation.
    let path = unsafe { CStr::from_ptr(path) };
    match executable::obstacle(path) {
        Some(why) => {
            sys::say(&[b"cannot intercept ", path.to_bytes(), b": ", why]);
            true
        }
        None => false,
    }
}

/// Executes a program; returns only if that fails. A program that cannot be intercepted ends the process.
///
/// # Safety
/// As execve(2).
unsafe fn execute(path: *const c_char, arguments: Strings, given: Strings) -> c_int {
    // SAFETY: the caller's obligation.
    unsafe {
        Environment::with(given, |environment| {
            if is_refused(path, environment) {
                sys::exit(2);
            }
            start::before_exit(0);
            sys::done(call!(libc::SYS_execve, path, arguments, environment.as_ptr()))
        })
    }
}

/// Calls `visit` with each place where execvp(3) looks for a program, until it returns false.
///
/// # Safety
/// `name` is a C string; no other thread changes the environment.
pub(super) unsafe fn search(name: *const c_char, mut visit: impl FnMut(*const c_char) -> bool) {
    // SAFETY: the caller's obligation.
    let (text, path) = unsafe { (sys::bytes(name), sys::bytes(own(c"PATH"))) };
    if text.contains(&b'/') {
        visit(name);
        return;
    }
    let folders = if path.is_empty() { DEFAULT_PATH } else { path };
    for folder in folders.split(|&byte| byte == b':') {
        let mut place = Path::EMPTY;
        let fits = place.push(folder) && (folder.is_empty() || place.push(b"/")) && place.push(text);
        if fits && !visit(place.as_ptr()) {
            return;
        }
    }
}

/// Executes a program that is looked for as execvp(3) does; returns only if that fails.
///
/// # Safety
/// As execvpe(3).
unsafe fn execute_found(name: *const c_char, arguments: Strings, given: Strings) -> c_int {
    let mut errno = libc::ENOENT;
    // SAFETY: the caller's obligation.
    unsafe {
        search(name, |path| {
            execute(path, arguments, given);
            match sys::errno() {
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => true,
                libc::EACCES => {
                    errno = libc::EACCES;
                    true
                }
                libc::ENOEXEC => {
                    errno = interpret(path, arguments, given);
                    false
                }
                other => {
                    errno = other;
                    false
                }
            }
        });
    }
    sys::fail(errno)
}

/// Executes a script without `#!` by the shell; returns the errno.
///
/// # Safety
/// As execve(2).
unsafe fn interpret(path: *const c_char, arguments: Strings, given: Strings) -> c_int {
    // SAFETY: the caller's obligation.
    unsafe {
        let count = count(arguments);
        let Some(mut all) = Pointers::new(count + 2) else { return libc::ENOMEM };
        all.push(SHELL.as_ptr());
        all.push(path);
        (1..count).for_each(|n| all.push(*arguments.add(n)));
        execute(SHELL.as_ptr(), all.as_ptr(), given);
        sys::errno()
    }
}

replace! {
    /// Executes a program.
    fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
        execute(path, arguments, environment)
    }

    /// Executes a program with the environment of this one.
    fn execv(path: *const c_char, arguments: Strings) -> c_int {
        execute(path, arguments, environ)
    }

    /// Looks for a program, and executes it.
    fn execvp(name: *const c_char, arguments: Strings) -> c_int {
        execute_found(name, arguments, environ)
    }

    /// Looks for a program, and executes it with an environment.
    fn execvpe(name: *const c_char, arguments: Strings, environment: Strings) -> c_int {
        execute_found(name, arguments, environment)
    }

    /// Executes the program of a descriptor.
    fn fexecve(fd: c_int, arguments: Strings, environment: Strings) -> c_int {
        execute_at(fd, c"".as_ptr(), arguments, environment, libc::AT_EMPTY_PATH)
    }

    /// Executes a program relative to a folder.
    fn execveat(
        folder: c_int, path: *const c_char, arguments: Strings, environment: Strings, flags: c_int
    ) -> c_int {
        execute_at(folder, path, arguments, environment, flags)
    }
}

/// Executes a program relative to a folder; returns only if that fails.
///
/// # Safety
/// As execveat(2).
unsafe fn execute_at(
    folder: c_int,
    path: *const c_char,
    arguments: Strings,
    given: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's obligation.
    unsafe {
        let text = sys::bytes(path);
        let mut place = Path::EMPTY;
        // As the kernel names it to a script's interpreter, too.
        let is_absolute = text.starts_with(b"/") || (folder == libc::AT_FDCWD && !text.is_empty());
        let number = c_uint_of(folder);
        let named = is_absolute
            || (place.push(b"/proc/self/fd/")
                && place.push(crate::paths::decimal(number, &mut [0; 10]))
                && (text.is_empty() || place.push(b"/")));
        if !(named && place.push(text)) {
            return sys::fail(libc::ENAMETOOLONG);
        }
        Environment::with(given, |environment| {
            if is_refused(place.as_ptr(), environment) {
                sys::exit(2);
            }
            let environment = environment.as_ptr();
            start::before_exit(0);
            sys::done(call!(libc::SYS_execveat, folder, path, arguments, environment, flags))
        })
    }
}

/// Returns a descriptor as a number; a negative one, as one that nobody has.
fn c_uint_of(fd: c_int) -> u32 {
    u32::try_from(fd).unwrap_or(u32::MAX)
}

/// Passes the list of arguments of execl(3) to `$function` as two arrays: the five that are in registers after the
/// path, and the others on the stack.
macro_rules! listed {
    ($($(#[$doc:meta])* $name:ident => $function:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As libc's function.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() -> c_int {
                std::arch::naked_asm!(
                    // The stack is aligned to 16 bytes but for the return address, and stays so.
                    "push r9",
                    "push r8",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    "mov rsi, rsp",
                    "lea rdx, [rsp + 48]",
                    "call {function}",
                    "add rsp, 40",
                    "ret",
                    function = sym $function,
                )
            }
        )*
    };
}

listed! {
    /// Executes a program with a list of arguments.
    execl => list;
    /// Looks for a program, and executes it with a list of arguments.
    execlp => found_list;
    /// Executes a program with a list of arguments and an environment.
    execle => list_with_environment;
}

/// Number of arguments of a list that are in registers.
const IN_REGISTERS: usize = 5;

/// Collects a list of arguments, and calls `run` with the array and with what follows the null.
///
/// # Safety
/// The list ends with null; `run` reads what follows it only if the program passed something.
unsafe fn collect(
    registers: Strings,
    stack: Strings,
    run: impl FnOnce(Strings, *const *const c_char) -> c_int,
) -> c_int {
    let place = |n: usize| {
        if n < IN_REGISTERS { registers.wrapping_add(n) } else { stack.wrapping_add(n - IN_REGISTERS) }
    };
    // SAFETY: the list ends with null.
    let count = (0..).take_while(|&n| unsafe { !(*place(n)).is_null() }).count();
    let Some(mut array) = Pointers::new(count) else { return sys::fail(libc::ENOMEM) };
    // SAFETY: one of the list.
    (0..count).for_each(|n| array.push(unsafe { *place(n) }));
    run(array.as_ptr(), place(count + 1))
}

/// execl(3).
unsafe extern "C" fn list(path: *const c_char, registers: Strings, stack: Strings) -> c_int {
    // SAFETY: the caller passes what execl(3) takes.
    unsafe { collect(registers, stack, |arguments, _| execute(path, arguments, environ)) }
}

/// execlp(3).
unsafe extern "C" fn found_list(name: *const c_char, registers: Strings, stack: Strings) -> c_int {
    // SAFETY: the caller passes what execlp(3) takes.
    unsafe { collect(registers, stack, |arguments, _| execute_found(name, arguments, environ)) }
}

/// execle(3).
unsafe extern "C" fn list_with_environment(path: *const c_char, registers: Strings, stack: Strings) -> c_int {
    // SAFETY: the caller passes what execle(3) takes: an environment after the list.
    unsafe { collect(registers, stack, |arguments, next| execute(path, arguments, *next.cast::<Strings>())) }
}
