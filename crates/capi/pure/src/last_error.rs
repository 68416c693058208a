//! The text of the thread's last failed call; no allocation.

use std::cell::RefCell;
use std::ffi::c_char;
use std::fmt::{self, Write};

/// Size of a thread's text in bytes, including the terminating 0.
const TEXT_BYTES: usize = 512;

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
pub fn keep(text: fmt::Arguments<'_>) {
    LAST.with_borrow_mut(|last| {
        *last = Text::EMPTY;
        // Text that does not fit is cut off.
        let _ = last.write_fmt(text);
    });
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
    fn a_text_that_is_too_long_is_cut_between_characters() {
        keep(format_args!("{}", "ü".repeat(TEXT_BYTES)));
        assert_eq!(last(), "ü".repeat((TEXT_BYTES - 1) / 2));
        keep(format_args!("a\0b"));
        assert_eq!(last(), "a?b");
    }
}
