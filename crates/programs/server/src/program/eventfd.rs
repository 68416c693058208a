//! Eventfds that programs pass.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use gem_coherency::Errno;
use gem_coherency_sim::EventFile;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The text of a link to an eventfd in /proc.
const LINK: &str = "anon_inode:[eventfd]";

/// A program's eventfd.
#[derive(Debug)]
pub(crate) struct Eventfd(File);

impl Eventfd {
    /// Takes a file that is an eventfd.
    ///
    /// # Errors
    /// EINVAL for another kind of file.
    pub(crate) fn new(file: OwnedFd) -> Result<Self, Errno> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        if link.is_ok_and(|link| link.as_os_str() == LINK) {
            Ok(Self(file.into()))
        } else {
            Err(Errno::EINVAL)
        }
    }
}

impl EventFile for Eventfd {
    fn signal(&self) {
        // A full counter would block the write, unless the program made its file nonblocking; it is signalled already.
        let mut file = [PollFd::new(self.0.as_fd(), PollFlags::POLLOUT)];
        if poll(&mut file, PollTimeout::ZERO).is_ok_and(|count| count > 0) {
            let _ = (&self.0).write(&1_u64.to_ne_bytes());
        }
    }
}
