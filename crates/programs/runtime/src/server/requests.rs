//! Requests to the server.

use std::ffi::c_int;
use std::os::fd::RawFd;

use gem_coherency_protocol::{Descriptors, Message};

use super::connection::{self, Server};
use super::exchange::{Wish, converse};
use super::pool;
use crate::system::sandbox;
use crate::system::sys::Blocked;

/// Makes a request; returns the reply and its descriptors.
///
/// # Errors
/// The reply's errno; ENODEV if the server is gone.
pub(crate) fn make(server: &Server, message: &Message) -> Result<(Message, Descriptors), c_int> {
    make_with(server, message, Wish::ANYWHERE)
}

/// Makes a request that maps memory as `wish` says.
///
/// # Errors
/// As [`make`].
pub(crate) fn make_with(
    server: &Server,
    message: &Message,
    wish: Wish,
) -> Result<(Message, Descriptors), c_int> {
    sandbox::require_requests();
    let _signals = Blocked::new();
    let fd = connection::connection(server)?;
    settle(fd, converse(fd, message, &[], &[], wish))
}

/// Makes a request that has a payload, and no values in its reply.
///
/// # Errors
/// As [`make`].
pub(crate) fn tell(server: &Server, message: &Message, payload: &[u8]) -> Result<(), c_int> {
    sandbox::require_requests();
    let _signals = Blocked::new();
    let fd = connection::connection(server)?;
    let (_, descriptors) = settle(fd, converse(fd, message, payload, &[], Wish::ANYWHERE))?;
    descriptors.close();
    Ok(())
}

/// Keeps the connection of a request for the next one, or closes it if it is broken; returns the reply.
fn settle(
    fd: RawFd,
    replied: Result<(Message, Descriptors), c_int>,
) -> Result<(Message, Descriptors), c_int> {
    match replied {
        Ok((reply, descriptors)) => {
            pool::give(fd);
            match reply.errno {
                0 => Ok((reply, descriptors)),
                errno => Err(errno),
            }
        }
        Err(_) => {
            pool::drop(fd);
            Err(libc::ENODEV)
        }
    }
}
