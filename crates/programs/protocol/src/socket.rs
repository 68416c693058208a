//! Sending and receiving.
//!
//! # Safety
//!
//! System calls get pointers to values on the stack that live until the call returns, with their sizes.

#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use crate::call;
use crate::message::{MESSAGE_BYTES, Message};

/// Most bytes of a payload.
pub const MOST_PAYLOAD: usize = 4096;

/// Most descriptors of a message.
pub const MOST_DESCRIPTORS: usize = 3;

/// Words of a control message with the most descriptors, aligned as the kernel wants it, and of one with the sender.
const CONTROL_WORDS: usize = 2 + MOST_DESCRIPTORS.div_ceil(2) + 4;

/// Received descriptors, which the receiver owns.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Descriptors {
    numbers: [RawFd; MOST_DESCRIPTORS],
    count: usize,
}

impl Descriptors {
    /// Returns the descriptors.
    pub fn as_slice(&self) -> &[RawFd] {
        self.numbers.get(..self.count).unwrap_or_default()
    }

    /// Returns the first one, and closes the others.
    pub fn into_first(self) -> Option<OwnedFd> {
        let (&first, others) = self.as_slice().split_first()?;
        others.iter().for_each(|&fd| close(fd));
        // SAFETY: the kernel installed it for this receiver, and nothing else closes it.
        Some(unsafe { OwnedFd::from_raw_fd(first) })
    }

    /// Closes all of them.
    pub fn close(self) {
        self.as_slice().iter().for_each(|&fd| close(fd));
    }
}

/// Closes a descriptor, by the system call.
pub fn close(fd: RawFd) {
    // SAFETY: close(2) accesses no memory of the program.
    let _ = unsafe { call!(libc::SYS_close, fd) };
}

/// Repeats a system call while signals interrupt it.
fn uninterrupted(mut call: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
    loop {
        match call() {
            Err(libc::EINTR) => {}
            done => return done,
        }
    }
}

/// Returns the cookie of a socket.
///
/// # Errors
/// EBADF; ENOTSOCK for another kind of file.
pub fn cookie(fd: RawFd) -> Result<u64, i32> {
    let mut cookie = 0_u64;
    let mut len = size_of::<u64>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_COOKIE);
    // SAFETY: `cookie` has the `len` bytes that the kernel writes.
    uninterrupted(|| unsafe { call!(libc::SYS_getsockopt, fd, level, name, &raw mut cookie, &raw mut len) })?;
    Ok(cookie)
}

/// Sends a message with its payload and descriptors.
///
/// # Errors
/// EPIPE if the other end is closed; EMSGSIZE for more than a message can have; those of sendmsg(2).
pub fn send(socket: RawFd, message: &Message, payload: &[u8], descriptors: &[RawFd]) -> Result<(), i32> {
    if payload.len() > MOST_PAYLOAD || descriptors.len() > MOST_DESCRIPTORS {
        return Err(libc::EMSGSIZE);
    }
    let mut bytes = message.to_bytes();
    let mut parts = [
        libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() },
        libc::iovec { iov_base: payload.as_ptr().cast_mut().cast(), iov_len: payload.len() },
    ];
    let mut control = [0_u64; CONTROL_WORDS];
    let rights = size_of_val(descriptors) as libc::c_uint;
    // SAFETY: all zeroes is a header of nothing.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = parts.as_mut_ptr();
    header.msg_iovlen = parts.len();
    if !descriptors.is_empty() {
        header.msg_control = control.as_mut_ptr().cast();
        // SAFETY: arithmetic.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(rights) } as usize;
        // SAFETY: the control buffer is aligned and has room for a header and the most descriptors.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(rights) as usize;
            let data = libc::CMSG_DATA(first).cast::<RawFd>();
            std::ptr::copy_nonoverlapping(descriptors.as_ptr(), data, descriptors.len());
        }
    }
    let flags = libc::MSG_NOSIGNAL;
    // SAFETY: the header names buffers that live until the call returns.
    uninterrupted(|| unsafe { call!(libc::SYS_sendmsg, socket, &raw const header, flags) }).map(drop)
}

/// A received message.
#[derive(Debug)]
pub struct Received {
    /// The message.
    pub message: Message,
    /// The length of its payload.
    pub payload_bytes: usize,
    /// Its descriptors, which close on execve(2).
    pub descriptors: Descriptors,
    /// The process that sent it, as the kernel says; `None` unless the socket asks for it ([`ask_for_senders`]).
    pub sender: Option<i32>,
}

/// Makes the kernel say of each message that a socket receives from now on which process sent it.
///
/// # Errors
/// Those of setsockopt(2).
pub fn ask_for_senders(socket: RawFd) -> Result<(), i32> {
    let on: libc::c_int = 1;
    let len = size_of_val(&on) as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_PASSCRED);
    // SAFETY: `on` has the `len` bytes that the kernel reads.
    uninterrupted(|| unsafe { call!(libc::SYS_setsockopt, socket, level, name, &raw const on, len) })
        .map(drop)
}

/// Receives a message.
///
/// # Errors
/// ECONNRESET if the other end is closed; EPROTO for bytes that are not a message, and more descriptors than one has; those of
/// recvmsg(2).
pub fn receive(socket: RawFd, payload: &mut [u8; MOST_PAYLOAD]) -> Result<Received, i32> {
    let mut bytes = [0; MESSAGE_BYTES];
    let mut parts = [
        libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() },
        libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: payload.len() },
    ];
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: all zeroes is a header of nothing.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = parts.as_mut_ptr();
    header.msg_iovlen = parts.len();
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control);
    let flags = libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header names buffers that live until the call returns.
    let len = uninterrupted(|| unsafe { call!(libc::SYS_recvmsg, socket, &raw mut header, flags) })?;
    let Attached { descriptors, sender, is_whole } = attached(&header);
    match len.checked_sub(MESSAGE_BYTES).filter(|_| is_whole) {
        Some(payload_bytes) => {
            Ok(Received { message: Message::from_bytes(&bytes), payload_bytes, descriptors, sender })
        }
        None => {
            descriptors.close();
            Err(if len == 0 { libc::ECONNRESET } else { libc::EPROTO })
        }
    }
}

/// What came with a message.
struct Attached {
    descriptors: Descriptors,
    sender: Option<i32>,
    /// There were no more descriptors than these.
    is_whole: bool,
}

/// Returns what came with a message; descriptors that are too many are closed.
fn attached(header: &libc::msghdr) -> Attached {
    // Fewer than were sent come to a process that has no room for more: its caller looks at their number.
    let mut found = Attached { descriptors: Descriptors::default(), sender: None, is_whole: true };
    // SAFETY: the kernel filled in the header and the control messages.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            let bytes = (*control).cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            let data = libc::CMSG_DATA(control);
            match ((*control).cmsg_level, (*control).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                    for n in 0..bytes / size_of::<RawFd>() {
                        let fd = data.cast::<RawFd>().add(n).read_unaligned();
                        let Descriptors { numbers, count } = &mut found.descriptors;
                        match numbers.get_mut(*count) {
                            Some(slot) => (*slot, *count) = (fd, *count + 1),
                            None => {
                                found.is_whole = false;
                                close(fd);
                            }
                        }
                    }
                }
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) if bytes >= size_of::<libc::ucred>() => {
                    let pid = data.cast::<libc::ucred>().read_unaligned().pid;
                    // 0: of a namespace that this process does not see.
                    found.sender = Some(pid).filter(|pid| *pid > 0);
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn descriptors_and_payload_arrive() {
        let (near, far) = UnixDatagram::pair().unwrap();
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let message = Message::new(5, [1, 2, 3]);
        send(near.as_raw_fd(), &message, b"name", &[writer.as_raw_fd()]).unwrap();
        let mut payload = [0; MOST_PAYLOAD];
        let got = receive(far.as_raw_fd(), &mut payload).unwrap();
        let Received { payload_bytes, descriptors, sender, .. } = got;
        assert_eq!((got.message, &payload[..payload_bytes], sender), (message, &b"name"[..], None));
        assert_eq!(descriptors.as_slice().len(), 1);
        writer.write_all(b"x").unwrap();
        drop(writer);
        descriptors.close();
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"x", "no writer is left");
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        let (near, far) = UnixDatagram::pair().unwrap();
        near.send(b"short").unwrap();
        let mut payload = [0; MOST_PAYLOAD];
        assert_eq!(receive(far.as_raw_fd(), &mut payload).unwrap_err(), libc::EPROTO);
        assert_eq!(send(near.as_raw_fd(), &Message::default(), &[0; 5000], &[]), Err(libc::EMSGSIZE));
        assert_eq!(send(near.as_raw_fd(), &Message::default(), &[], &[0; 4]), Err(libc::EMSGSIZE));
        drop(far);
        assert!(send(near.as_raw_fd(), &Message::default(), &[], &[]).is_err());
    }

    /// Sends bytes with so many copies of a descriptor.
    fn send_copies(socket: &UnixDatagram, bytes: &mut [u8], copied: RawFd, count: usize) {
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let copies = vec![copied; count];
        let size = size_of_val(&copies[..]) as libc::c_uint;
        let mut control = [0_u64; 16];
        // SAFETY: all zeroes is a header of nothing; the control buffer is aligned and has room for 28 descriptors; the header names
        // buffers that live until the call returns.
        let sent = unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(size) as _;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            ((*first).cmsg_level, (*first).cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
            (*first).cmsg_len = libc::CMSG_LEN(size) as _;
            std::ptr::copy_nonoverlapping(copies.as_ptr(), libc::CMSG_DATA(first).cast(), count);
            libc::sendmsg(socket.as_raw_fd(), &raw const header, 0)
        };
        assert_eq!(usize::try_from(sent), Ok(bytes.len()));
    }

    #[test]
    fn no_descriptor_of_a_message_that_is_refused_stays_open() {
        let mut payload = [0; MOST_PAYLOAD];
        let whole = [0; MESSAGE_BYTES];
        let cases = [
            (&whole[..], MOST_DESCRIPTORS, None),
            (&whole[..], MOST_DESCRIPTORS + 1, Some(libc::EPROTO)),
            (&whole[..], 20, Some(libc::EPROTO)),
            (&[1][..], 1, Some(libc::EPROTO)),
            (&[][..], 1, Some(libc::ECONNRESET)),
        ];
        for (asks, (bytes, count, expected)) in
            [false, true].into_iter().flat_map(|asks| cases.map(|case| (asks, case)))
        {
            let (near, far) = UnixDatagram::pair().unwrap();
            if asks {
                ask_for_senders(far.as_raw_fd()).unwrap();
            }
            let (mut reader, writer) = std::io::pipe().unwrap();
            send_copies(&near, &mut bytes.to_vec(), writer.as_raw_fd(), count);
            match receive(far.as_raw_fd(), &mut payload) {
                Ok(Received { descriptors, sender, .. }) => {
                    assert_eq!(sender, asks.then(|| std::process::id() as i32));
                    assert_eq!((descriptors.as_slice().len(), expected), (count, None));
                    descriptors.close();
                }
                Err(errno) => assert_eq!(Some(errno), expected, "{count} descriptors"),
            }
            drop(writer);
            assert_eq!(reader.read(&mut [0]).unwrap(), 0, "{count} descriptors: a writer is left");
        }
    }

    #[test]
    fn a_cookie_names_a_socket_and_its_copies() {
        let (near, far) = UnixDatagram::pair().unwrap();
        let own = cookie(near.as_raw_fd()).unwrap();
        assert_eq!(cookie(near.try_clone().unwrap().as_raw_fd()), Ok(own));
        assert_ne!(cookie(far.as_raw_fd()), Ok(own));
        assert_eq!(cookie(-1), Err(libc::EBADF));
        assert_eq!(cookie(std::io::pipe().unwrap().0.as_raw_fd()), Err(libc::ENOTSOCK));
    }
}
