//! The messages between a program on a software device and the server that has the device.
//!
//! A connection is a UNIX socket of type `SOCK_SEQPACKET`. The program sends a [`Request`]; the server may send
//! [`Call`]s, each of which the program answers, and then sends the reply. A message is a [`Message`], a payload, and
//! descriptors (`SCM_RIGHTS`).
//!
//! Each file of a device is a socket, too: the program has one end, the server the other. The program's kernel
//! therefore keeps account of copies (dup(2), fork(2), `SCM_RIGHTS`) and tells the server when the last one is closed;
//! poll(2) and read(2) of events need no server. The cookie of the program's end (`SO_COOKIE`) names the file.
//!
//! No function here allocates or calls a function of libc that a program may have replaced, so that they can be used
//! in a signal handler and below a program's own calls.
//!
//! # Layers
//!
//! ```text
//! L1  socket   process   stores
//! L0  message   call   flushes   sites   names   epochs
//! ```
//!
//! * `socket`: sends and receives messages with descriptors. Not what they ask for.
//! * `process`: permission for the server to use a program's memory. Not the access itself.
//! * `stores`: the first store to each page, in shared memory. Not how it was seen.
//! * `message`: requests and calls as words. Not payloads.
//! * `call`: system calls by the instruction. Not a call of libc.
//! * `epochs`: stores to write-combining mappings between two fences, in shared memory. Not the fences.
//! * `flushes`: the log of flushes in shared memory. Not how they were trapped.
//! * `sites`: call stacks and the counts of those that flush. Not symbols.
//! * `names`: environment, folder and socket by which a program finds the server, and the build of both. Not a connection.

#![deny(unsafe_code)]

mod call;
mod epochs;
mod flushes;
mod message;
mod names;
mod process;
mod sites;
mod socket;
mod stores;

pub use call::{Operand, call};
pub use epochs::{
    EPOCHS_BYTES, PAGE_WORDS, begin_epoch, end_epoch, epoch_in, note_polled, overwrite, polled,
};
pub use flushes::{
    ENTRY_BYTES, Entry, Flushed, Found, LINE_WORDS, LOG_BYTES, LOG_ENTRIES, LogEntryKind, USER_MEMORY,
    append, entry_at,
};
pub use message::{
    Call, EVICTS, MESSAGE_BYTES, Message, NOT_A_FILE, OTHER_BUILD, Request, SEE_LOADS, SHOWS_LINEAR,
    SHOWS_MEMORY, SHOWS_NOTHING, WANTS_EPOCHS, WANTS_EXITS, WANTS_FINDINGS, WANTS_LOADS,
};
pub use names::{BUILD, ENVIRONMENT, FOLDER, SOCKET, TEST};
pub use process::share_memory;
pub use sites::{Frame, MOST_SITES, Run, SITE_BYTES, SiteCounts, SiteRecord, frames};
pub use socket::{
    Descriptors, MOST_DESCRIPTORS, MOST_PAYLOAD, Received, ask_for_senders, close, cookie, receive, send,
};
pub use stores::{STORES_BYTES, add_store, has_store, remove_store, store_in, stored_objects};
