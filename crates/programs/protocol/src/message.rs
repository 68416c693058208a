//! The messages.
//!
//! A new one takes these steps. Example: `git grep -n 'BeforeExitOrClose'` (a request), `git grep -n 'Call::Stale'` (a call).
//!
//! 1. Here: a variant of [`Request`] (a program's) or [`Call`] (the server's) with a number and its operands in order. Flags are constants
//!    beside it, exported in `lib.rs`.
//! 2. A request: its arm in `Connection::request` (`crates/programs/server/src/connection.rs`); its sender in `crates/programs/runtime/src`
//!    (`start`, `loads`, `paths`, a hook).
//! 3. A call: its arm in `converse` (`crates/programs/runtime/src/server/exchange.rs`); its sender in `crates/programs/server/src/program`.
//!    The runtime may run in a signal handler, so it may not allocate or call libc functions that programs replace.
//! 4. If the judge has to know: a method of `Judge` (`crates/programs/server/src/judge.rs`), implemented in
//!    `crates/sanitizer/judge/src/sanitizer.rs`.
//! 5. If the runtime makes another system call: `needs` in its `sandbox` module, and the list in `docs/programs.md`. No command fails
//!    without them.
//! 6. Tests: `crates/programs/server/tests/counts.rs`, and a C program in `crates/programs/runtime/tests` for `ci/programs` or `ci/sanitize`.

/// A message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Message {
    /// The number of a [`Request`] or a [`Call`]; 0 in a reply and in an answer.
    pub number: u32,
    /// The errno of a reply or an answer; 0 without an error.
    pub errno: i32,
    /// The operands.
    pub operands: [u64; 6],
}

/// Length of a message in bytes.
pub const MESSAGE_BYTES: usize = size_of::<Message>();

impl Message {
    /// Creates a message of a number with its operands.
    pub fn new<const N: usize>(number: u32, operands: [u64; N]) -> Self {
        let mut all = [0; 6];
        all.iter_mut().zip(operands).for_each(|(to, from)| *to = from);
        Self { number, errno: 0, operands: all }
    }

    /// Creates the reply or the answer with these values.
    pub fn done<const N: usize>(operands: [u64; N]) -> Self {
        Self::new(0, operands)
    }

    /// Creates the reply or the answer with an errno.
    pub fn failed(errno: i32) -> Self {
        Self { number: 0, errno, operands: [0; 6] }
    }

    /// Returns the message as bytes.
    pub(crate) fn to_bytes(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        let (head, rest) = bytes.split_at_mut(8);
        head[..4].copy_from_slice(&self.number.to_ne_bytes());
        head[4..].copy_from_slice(&self.errno.to_ne_bytes());
        for (to, from) in rest.chunks_exact_mut(8).zip(self.operands) {
            to.copy_from_slice(&from.to_ne_bytes());
        }
        bytes
    }

    /// Returns the message in bytes.
    pub(crate) fn from_bytes(bytes: &[u8; MESSAGE_BYTES]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(word)
        };
        let head = word(0).to_ne_bytes();
        let [a, b, c, d, e, f, g, h] = head;
        let mut operands = [0; 6];
        operands.iter_mut().zip(1..).for_each(|(operand, n)| *operand = word(8 * n));
        Self { number: u32::from_ne_bytes([a, b, c, d]), errno: i32::from_ne_bytes([e, f, g, h]), operands }
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name { $($(#[$of])* $variant = $number,)* }

        impl $name {
            /// Returns the one with a number; `None` if there is none.
            pub fn from_number(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// Creates its message.
            pub fn with<const N: usize>(self, operands: [u64; N]) -> Message {
                Message::new(self as u32, operands)
            }
        }
    };
}

/// The errno of a request on a socket that is no file of a device; no request of a device fails with it.
pub const NOT_A_FILE: i32 = libc::ESTALE;

/// A mapping shows the bytes in memory: a flag of [`Call::Map`].
pub const SHOWS_MEMORY: u64 = 1;
/// A mapping shows nothing, and has no files: a touch raises SIGBUS.
pub const SHOWS_NOTHING: u64 = 2;
/// A mapping shows a tiled object in linear order, and has one file, of these bytes.
pub const SHOWS_LINEAR: u64 = 4;
/// The first load of each page of a mapping is to be seen: a flag of [`Call::Map`] beside those of what it shows.
pub const SEE_LOADS: u64 = 8;
/// A load through a mapping of the cached bytes drops a clean line first: a flag of [`Call::Map`] beside that one.
pub const EVICTS: u64 = 16;

/// The server collects findings: a flag of the reply to [`Request::Hello`].
pub const WANTS_FINDINGS: u64 = 1;
/// The server wants the first load of each line of [`Call::Stale`]; otherwise only loads that get old bytes.
pub const WANTS_LOADS: u64 = 2;
/// The server wants to know how the program exits ([`Request::Exit`]).
pub const WANTS_EXITS: u64 = 4;
/// The server wants to know what programs store to write-combining mappings between two fences ([`Request::Epochs`]).
pub const WANTS_EPOCHS: u64 = 8;
/// The errno of [`Request::Hello`] if the program's library and the server are of different builds.
pub const OTHER_BUILD: i32 = libc::EPROTONOSUPPORT;

numbered! {
    /// A program's request to the server.
    Request {
        /// The first of a connection: the number of the process as the server named it, 0 for a new one, the process's id, and
        /// [`BUILD`](crate::BUILD) of the program's library. The payload has the name of the program's test, if it has one. The reply has
        /// the number, what the server wants ([`WANTS_FINDINGS`] and its neighbours), and the server's build, also with the
        /// errno [`OTHER_BUILD`]. An id that is not the sender's, as the kernel says, counts if the two share their memory.
        Hello = 1,
        /// Opens the node with a minor number: the number, and whether to close the descriptor on execve(2). The server
        /// calls [`Call::Install`]; the reply has the descriptor's number.
        Open = 2,
        /// Opens the file with a cookie again, as open(2) of `/proc/self/fd/N` does: the cookie; the rest as
        /// [`Self::Open`].
        Reopen = 3,
        /// Describes the file with a cookie. The reply has its kind (1 device, 2 dma-buf, 3 fence, 4 syncobj), and the
        /// minor number of a device or the size of a dma-buf.
        Describe = 4,
        /// ioctl(2): cookie, code, argument. The reply has the result.
        Ioctl = 5,
        /// mmap(2): cookie, length, protection, offset, 1 for MAP_PRIVATE. The server calls [`Call::Map`]; the reply has the address.
        Map = 6,
        /// Unmapped pages: address, length.
        Unmapped = 7,
        /// Moved pages (mremap(2)): address, length, new address, new length.
        Moved = 8,
        /// lseek(2): cookie, offset, whence. The reply has the position.
        Seek = 9,
        /// A child process is about to be created. The reply has the descriptor of its connection.
        Fork = 10,
        /// The first of a child's connection. The server takes its id from the kernel.
        Child = 11,
        /// Gives the server the file of [`SiteRecord`](crate::SiteRecord)s, after which is the log of flushes.
        Sites = 12,
        /// mprotect(2) of pages: address, length, protection.
        Protected = 13,
        /// A load of lines that are stale, which got old bytes or which the server wants ([`WANTS_LOADS`]): number of the object,
        /// the first line, the one after the last. The payload has the call stack, as [`Frame`](crate::Frame)s.
        Loaded = 14,
        /// Makes the folder of files ([`FOLDER`](crate::FOLDER)) if it is missing, for any process: needs no
        /// [`Self::Hello`].
        Folder = 15,
        /// Gives the server the file of the process's table of first stores ([`store_in`](crate::store_in)).
        Stores = 16,
        /// The process is about to close the file with a cookie, or to exit: 0.
        BeforeExitOrClose = 17,
        /// The process exits with a status, or executes another program: 0. For a server that wants it ([`WANTS_EXITS`]).
        Exit = 18,
        /// Gives the server the file of the process's table of stores between fences ([`epoch_in`](crate::epoch_in)). For a server that wants
        /// it ([`WANTS_EPOCHS`]).
        Epochs = 19,
        /// Describes the file with a cookie, if it is a device's, as /proc does: the cookie, and the file's flags, mount and inode. The reply has
        /// a memory file with the text.
        Fdinfo = 20,
    }
}

numbered! {
    /// A server's call to the program during a request.
    Call {
        /// Asks for the cookie of a descriptor. The answer has it; EBADF; EINVAL for a file of another driver.
        Cookie = 101,
        /// Gives a descriptor: whether to close it on execve(2). The answer has its number.
        Install = 102,
        /// Maps pages of three files, the cached bytes, memory's, and those that the lines were filled with: length,
        /// protection (1 loads, 2 stores), offset in the files, what the mapping shows (0: the cached bytes;
        /// [`SHOWS_MEMORY`], [`SHOWS_NOTHING`], [`SHOWS_LINEAR`]; with [`SEE_LOADS`], [`EVICTS`]), number of the object, and the
        /// address of the object's mapping that this one replaces, or 0. The answer has the address.
        Map = 103,
        /// Asks for the call stack of the request. The answer's payload has it, as [`Frame`](crate::Frame)s; none if that is not
        /// known.
        Stack = 105,
        /// Asks for the file of a descriptor. The answer's descriptor is a copy of it; EBADF.
        Copy = 106,
        /// Lines may have become stale: number of the object, the first line, the one after the last. The answer is empty.
        Stale = 107,
        /// The first load of each page of lines is to be seen: as [`Self::Stale`]. The log says of which pages it cannot be.
        SeeLoads = 108,
        /// Ends the program by SIGABRT in the thread that made the request. The answer, if the program goes on, is empty.
        Halt = 109,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_bytes() {
        let message = Message { number: 7, errno: -3, operands: [1, 2, 3, 4, 5, u64::MAX] };
        assert_eq!(Message::from_bytes(&message.to_bytes()), message);
        assert_eq!(Request::from_number(Request::Seek as u32), Some(Request::Seek));
        assert_eq!(Request::from_number(0), None, "a reply");
        assert_eq!(Call::from_number(Request::Hello as u32), None, "a request");
    }
}
