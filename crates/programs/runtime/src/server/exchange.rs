//! Exchanges on a connection: a request, the calls that the server makes meanwhile, and the reply.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;

use gem_coherency_protocol::{
    Call, Descriptors, EVICTS, MOST_PAYLOAD, Message, Received, SEE_LOADS, SHOWS_LINEAR, SHOWS_MEMORY,
    SHOWS_NOTHING, cookie, receive, send,
};

use crate::mapped::mappings::{self, Mapping, Views};
use crate::mapped::{epochs, hidden, line, sites};
use crate::system::{sandbox, sys};

/// How a mapping that the server asks for is wanted: as the program's mmap(2) said.
#[derive(Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) address: *mut c_void,
    pub(crate) flags: c_int,
}

impl Wish {
    /// A mapping that a request makes (GEM_MMAP).
    pub(crate) const ANYWHERE: Self = Self { address: std::ptr::null_mut(), flags: libc::MAP_SHARED };
}

/// Makes a request without calls on a connection; returns the reply.
///
/// # Errors
/// The reply's errno; those of the connection.
pub(crate) fn exchange(fd: c_int, message: &Message) -> Result<Message, c_int> {
    exchange_with(fd, message, &[])
}

/// As [`exchange`], with descriptors for the server.
///
/// # Errors
/// As [`exchange`].
pub(crate) fn exchange_with(fd: c_int, message: &Message, given: &[RawFd]) -> Result<Message, c_int> {
    let (reply, descriptors) = converse(fd, message, &[], given, Wish::ANYWHERE)?;
    descriptors.close();
    if reply.errno == 0 { Ok(reply) } else { Err(reply.errno) }
}

/// Makes a request with a payload and without calls; returns the reply, which may have an errno.
///
/// # Errors
/// Those of the connection.
pub(super) fn say(fd: c_int, message: &Message, payload: &[u8]) -> Result<Message, c_int> {
    let (reply, descriptors) = converse(fd, message, payload, &[], Wish::ANYWHERE)?;
    descriptors.close();
    Ok(reply)
}

/// Sends a request, answers the server's calls, and returns the reply.
pub(super) fn converse(
    fd: c_int,
    message: &Message,
    payload: &[u8],
    given: &[RawFd],
    wish: Wish,
) -> Result<(Message, Descriptors), c_int> {
    sandbox::needs(libc::SYS_sendmsg, || send(fd, message, payload, given))?;
    let mut payload = [0; MOST_PAYLOAD];
    loop {
        let Received { message, descriptors, .. } =
            sandbox::needs(libc::SYS_recvmsg, || receive(fd, &mut payload))?;
        let (mut lines, mut copied) = (None, None);
        let answer = match Call::from_number(message.number) {
            None => return Ok((message, descriptors)),
            Some(Call::Stack) => {
                descriptors.close();
                lines = Some(sites::stack());
                Message::default()
            }
            Some(Call::Copy) => {
                descriptors.close();
                let wanted = message.operands[0] as c_int;
                match sys::fcntl(wanted, libc::F_GETFD, 0) {
                    Ok(_) => {
                        copied = Some(wanted);
                        Message::default()
                    }
                    Err(errno) => Message::failed(errno),
                }
            }
            Some(Call::Cookie) => {
                descriptors.close();
                match cookie(message.operands[0] as c_int) {
                    Ok(cookie) => Message::done([cookie]),
                    Err(libc::ENOTSOCK) => Message::failed(libc::EINVAL),
                    Err(errno) => Message::failed(errno),
                }
            }
            Some(Call::Stale) => {
                descriptors.close();
                let [object, first, end, ..] = message.operands;
                hidden::hide(object, first, end);
                Message::default()
            }
            Some(Call::SeeLoads) => {
                descriptors.close();
                let [object, first, end, ..] = message.operands;
                hidden::see_first(object, first, end);
                Message::default()
            }
            Some(Call::Halt) => {
                descriptors.close();
                sys::abort();
                Message::default()
            }
            Some(Call::Install) => install(&message, descriptors),
            Some(Call::Map) => {
                let mapped = map(&message, descriptors.as_slice(), wish);
                descriptors.close();
                mapped.map_or_else(Message::failed, |address| Message::done([address.addr() as u64]))
            }
        };
        send(fd, &answer, lines.as_ref().map_or(&[], sites::Lines::as_bytes), copied.as_slice())?;
    }
}

/// Leaves the descriptor of a call in the program's table.
fn install(message: &Message, descriptors: Descriptors) -> Message {
    let &[fd] = descriptors.as_slice() else {
        descriptors.close();
        return Message::failed(libc::EMFILE);
    };
    if message.operands[0] == 0 {
        // Cannot fail: the descriptor is open.
        let _ = sys::fcntl(fd, libc::F_SETFD, 0);
    }
    Message::done([fd as u64])
}

/// Maps an object's bytes where the program wants them, or in place of a mapping of the object, and all three files where
/// the program does not see them.
fn map(message: &Message, files: &[RawFd], wish: Wish) -> Result<*mut c_void, c_int> {
    let [len, protection, offset, shows, object, replaced] = message.operands;
    let len = usize::try_from(len).map_err(|_| libc::ENOMEM)?;
    let (shown, views) = match files {
        &[cached, memory, filled] => {
            let shown = if shows & SHOWS_MEMORY == 0 { cached } else { memory };
            (shown, Some(Views::map(len, [cached, memory, filled], offset)?))
        }
        &[linear] if shows & SHOWS_LINEAR != 0 => (linear, None),
        // A file without bytes: a touch raises SIGBUS.
        [] if shows & SHOWS_NOTHING != 0 => (sys::memory_file(c"nothing", 0)?, None),
        _ => return Err(libc::EMFILE),
    };
    let shows_cache = shows & (SHOWS_MEMORY | SHOWS_NOTHING | SHOWS_LINEAR) == 0;
    let evicts = shows & EVICTS != 0;
    let mapping = |start| Mapping { start, len, views, object, offset, shows_cache, evicts };
    let mmap = |address, flags| {
        // SAFETY: with MAP_FIXED, the program gives up what it had there, or it is the mapping that is replaced.
        let map = || unsafe {
            sys::mmap(address, len, protection as c_int, flags | libc::MAP_SHARED, shown, offset)
        };
        sandbox::needs(libc::SYS_mmap, map)
    };
    let mapped = match replaced as usize {
        0 => mmap(wish.address, wish.flags & !libc::MAP_PRIVATE)
            .inspect(|address| mappings::add(mapping(address.addr()))),
        start => {
            let address = std::ptr::with_exposed_provenance_mut(start);
            mappings::replace(mapping(start), || mmap(address, libc::MAP_FIXED).map(drop)).map(|()| address)
        }
    };
    match views {
        None if files.is_empty() => sys::close(shown),
        Some(views) if mapped.is_err() => views.unmap(len),
        Some(_) | None => {}
    }
    let address = mapped?;
    // With MAP_FIXED, there may have been watched pages.
    sites::forget(address.addr(), len);
    let sees_stores = shows_cache || epochs::is_on() && views.is_some();
    match protection {
        1 if shows_cache => sites::watch_loads(address.addr(), len),
        0 | 1 => {}
        _ if sees_stores => sites::watch(address.addr(), len),
        _ => {}
    }
    if shows & SEE_LOADS != 0 {
        let lines = |bytes: u64| bytes / line::LINE_BYTES as u64;
        hidden::see_first(object, lines(offset), lines(offset + len as u64));
    }
    Ok(address)
}
