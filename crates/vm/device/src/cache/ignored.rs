//! Functions of the kernel whose flushes are ignored, as if the driver were built without them. A flush belongs to a
//! function if that has been entered on the same stack and has not returned.

use std::ops::Range;

/// A kernel stack is so large, and aligned to its size.
const STACK: u64 = 16 << 10;

pub struct Function {
    pub name: String,
    pub code: Range<u64>,
}

/// A function that was entered: where its return address is, and what it is.
struct Frame {
    at: u64,
    returns_to: u64,
}

#[derive(Default)]
pub struct Ignored {
    functions: Vec<Function>,
    frames: Vec<Frame>,
    pub flushes: u64,
}

impl Ignored {
    /// Adds a function, described as "NAME START END" with hexadecimal addresses.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let mut words = text.split_ascii_whitespace();
        let (Some(name), Some(start), Some(end), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(format!("'{text}' is not a function's name, start and end"));
        };
        let number = |word: &str| {
            u64::from_str_radix(word, 16)
                .map_err(|error| format!("'{word}' of '{text}' is not an address: {error}"))
        };
        self.functions.push(Function { name: name.into(), code: number(start)?..number(end)? });
        Ok(())
    }

    /// How many flushes were ignored, in which functions; nothing without functions.
    pub fn report(&self) -> Option<String> {
        let names: Vec<_> = self.functions.iter().map(|function| function.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{} flushes ignored in {}", self.flushes, names.join(", ")))
    }

    pub fn is_entry(&self, at: u64) -> bool {
        self.functions.iter().any(|function| function.code.start == at)
    }

    pub fn contains(&self, at: u64) -> bool {
        self.functions.iter().any(|function| function.code.contains(&at))
    }

    /// A function was entered, with its return address at `at`.
    pub fn enter(&mut self, at: u64, returns_to: u64) {
        self.leave(at);
        self.frames.push(Frame { at, returns_to });
    }

    /// A function returns, with its return address at `at`.
    pub fn leave(&mut self, at: u64) {
        self.frames.retain(|frame| frame.at / STACK != at / STACK || frame.at > at);
    }

    /// Whether a flush with the stack pointer at `stack` belongs to one of the functions. `read` reads a word of
    /// the stack: a frame whose return address was overwritten is gone.
    pub fn is_active(&self, stack: u64, read: impl Fn(u64) -> Option<u64>) -> bool {
        self.frames.iter().any(|frame| {
            frame.at / STACK == stack / STACK && frame.at > stack && read(frame.at) == Some(frame.returns_to)
        })
    }
}
