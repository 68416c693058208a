//! Waits for the user at the terminal, or for a signal.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;

use crate::failure::Failure;

/// Signals that end the wait instead of the process.
///
/// Created before anything is allocated and before there are threads: a signal that arrives early ends the
/// wait as soon as it begins, and everything is released.
#[derive(Debug)]
pub struct Hold {
    signals: SignalFd,
}

impl Hold {
    /// Blocks SIGINT, SIGTERM and SIGHUP, and reads them from a signalfd.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new() -> Result<Self, Failure> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        let failed = |errno: Errno| Failure::Environment(format!("cannot wait for signals: {errno}"));
        set.thread_block().map_err(failed)?;
        Ok(Self { signals: SignalFd::new(&set).map_err(failed)? })
    }

    /// Waits for `time`, or only checks for a signal if there is none.
    ///
    /// # Errors
    /// The error that a signal arrived, and the kernel's errors.
    pub fn pause(&self, time: Option<Duration>) -> Result<(), Failure> {
        if self.has_signal(time)? { Err(Failure::Environment("interrupted".to_owned())) } else { Ok(()) }
    }

    /// Returns whether a signal arrived, after waiting for at most `time`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn has_signal(&self, time: Option<Duration>) -> Result<bool, Failure> {
        let millis = time.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(0) | Err(Errno::EINTR) => Ok(false),
            Ok(_) => Ok(true),
            Err(errno) => Err(Failure::Environment(format!("cannot wait: {errno}"))),
        }
    }

    /// Prints on standard error what is held, and waits for the end of a line or of standard input, or for a
    /// signal.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&self, bos: usize) -> Result<(), Failure> {
        // The wait does not depend on standard error.
        let _ = writeln!(io::stderr(), "BOs held: {bos}; Enter, end of input or Ctrl-C releases them");
        let stdin = io::stdin();
        loop {
            let mut fds = [
                PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut fds, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(Failure::Environment(format!("--hold: cannot wait: {errno}"))),
                Ok(_) => {}
            }
            let [input, signal] = fds.map(|fd| fd.any().unwrap_or(true));
            if signal {
                return Ok(());
            }
            let mut byte = [0];
            // Unbuffered: `poll` must see the remaining input. A failed read counts as the end of input.
            if input && !matches!(nix::unistd::read(stdin.as_fd(), &mut byte), Ok(1) if byte != *b"\n") {
                return Ok(());
            }
        }
    }
}
