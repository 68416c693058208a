//! Errors for C: a negative errno, and a text that the thread keeps; no allocation.

use std::cell::RefCell;
use std::ffi::{c_char, c_int};
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use gem_coherency::{Errno, Error, Unknown};

use super::log;

/// Size of a thread's text in bytes, including the terminating 0.
const TEXT_BYTES: usize = 512;

/// The reason why a call from C failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// An error of the library.
    Library(Error),
    /// The failure of a batch or a screen.
    #[cfg(feature = "exercise")]
    Exercise(gem_coherency_exercise::Error),
    /// An invalid argument, found before the library is called.
    Argument {
        /// The errno for it.
        errno: Errno,
        /// The parameter's name.
        name: &'static str,
        /// The cause.
        why: &'static str,
    },
    /// A function that does more than query was called in a log callback.
    InCallback,
    /// A number outside of its enum.
    Number {
        /// The parameter's name.
        name: &'static str,
        /// The number.
        value: u32,
    },
}

impl Failure {
    /// Creates the failure of a wrong argument: EINVAL.
    pub(super) const fn argument(name: &'static str, why: &'static str) -> Self {
        Self::Argument { errno: Errno::EINVAL, name, why }
    }

    fn errno(&self) -> Errno {
        match self {
            Self::Library(error) => error.errno(),
            #[cfg(feature = "exercise")]
            Self::Exercise(error) => error.errno(),
            Self::Argument { errno, .. } => *errno,
            Self::InCallback => Errno::EDEADLK,
            Self::Number { .. } => Errno::EINVAL,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<Unknown> for Failure {
    fn from(error: Unknown) -> Self {
        Self::Library(error.into())
    }
}

#[cfg(feature = "exercise")]
impl From<gem_coherency_exercise::Error> for Failure {
    fn from(error: gem_coherency_exercise::Error) -> Self {
        Self::Exercise(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            #[cfg(feature = "exercise")]
            Self::Exercise(error) => error.fmt(f),
            Self::Argument { name, why, .. } => write!(f, "{name} {why}"),
            Self::InCallback => f.write_str(
                "a log callback may only call functions that query; this call \
                did nothing",
            ),
            Self::Number { name, value } => write!(f, "{name} is {value}, which is not a value of its type"),
        }
    }
}

/// The result of a shim's body: the number returned to C.
pub(super) type Outcome = Result<c_int, Failure>;

/// A text of limited length that ends with a 0.
struct Text {
    bytes: [u8; TEXT_BYTES],
    len: usize,
}

impl Text {
    const EMPTY: Self = Self { bytes: [0; TEXT_BYTES], len: 0 };
}

impl Write for Text {
    /// Adds as many whole characters as fit; replaces a 0 with a `?`.
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for character in more.chars() {
            let character = if character == '\0' { '?' } else { character };
            let end = self.len + character.len_utf8();
            // The last byte stays 0.
            match self.bytes.get_mut(self.len..end) {
                Some(place) if end < TEXT_BYTES => character.encode_utf8(place),
                Some(_) | None => return Err(fmt::Error),
            };
            self.len = end;
        }
        Ok(())
    }
}

thread_local! {
    static LAST: RefCell<Text> = const { RefCell::new(Text::EMPTY) };
}

/// Keeps the thread's text, cut off where it does not fit.
fn keep(text: fmt::Arguments<'_>) {
    LAST.with_borrow_mut(|last| {
        *last = Text::EMPTY;
        // Text that does not fit is cut off.
        let _ = last.write_fmt(text);
    });
}

/// Runs a shim's body; returns its number, or a negative errno with a text. Fails without running it in a log
/// callback.
pub(super) fn run(call: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    query(call, || if log::is_in_callback() { Err(Failure::InCallback) } else { body() })
}

/// As [`run`], for a function that a log callback may call, because it only queries.
pub(super) fn query(call: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    // The callback may fail itself: its texts come before this call's.
    match log::during(|| catch_unwind(AssertUnwindSafe(body))) {
        Ok(Ok(value)) => value,
        Ok(Err(failure)) => {
            keep(format_args!("{call}: {failure}"));
            -failure.errno().get()
        }
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
            keep(format_args!("{call}: internal error: {text}"));
            // Dropping the payload could panic again.
            std::mem::forget(payload);
            -Errno::EIO.get()
        }
    }
}

/// As [`query`], for a function that returns null or text that lives as long as the program.
pub(super) fn text(
    call: &'static str,
    body: impl FnOnce() -> Result<*const c_char, Failure>,
) -> *const c_char {
    let mut found = std::ptr::null();
    query(call, || {
        found = body()?;
        Ok(0)
    });
    found
}

/// Returns the reason of the thread's last failed call, as a sentence.
///
/// Never NULL; "" if none failed yet. Successful calls do not change it. The text belongs to the thread and stays
/// unchanged until the thread's next failed call. At most 511 bytes, UTF-8. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_last_error() -> *const c_char {
    // The bytes belong to the thread and have no destructor, so they exist until it ends.
    LAST.with(|last| last.as_ptr().cast_const().cast())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn last() -> String {
        // SAFETY: the text is this thread's, and ends with a 0.
        unsafe { CStr::from_ptr(gemco_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_eio_and_its_text_is_kept() {
        assert_eq!(run("gemco_test", || panic!("number {}", 7)), -Errno::EIO.get());
        assert_eq!(last(), "gemco_test: internal error: number 7");
        assert_eq!(run("gemco_test", || Ok(3)), 3);
        assert!(last().ends_with("number 7"), "a call that succeeds leaves the text");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        keep(format_args!("{}", "ü".repeat(TEXT_BYTES)));
        assert_eq!(last(), "ü".repeat((TEXT_BYTES - 1) / 2));
        keep(format_args!("a\0b"));
        assert_eq!(last(), "a?b");
    }
}
