//! Requests that do not block, for a server that makes those of several threads and processes.
//!
//! A request that has to wait would keep the process from the thread that can end the wait. [`Process::attempt`]
//! returns instead, and the request is made again when something has happened:
//!
//! ```
//! use std::sync::Mutex;
//! use std::time::{Duration, Instant};
//!
//! use gem_coherency::Errno;
//! use gem_coherency_sim::{Attempt, Process};
//!
//! fn ioctl(process: &Mutex<Process>, fd: i32, code: u32, argument: u64) -> Result<i32, Errno> {
//!     let since = Instant::now();
//!     loop {
//!         let attempt = process.lock().unwrap().attempt(fd, code, argument, since)?;
//!         match attempt {
//!             Attempt::Done(result) => return Ok(result),
//!             Attempt::Waits(waits) => waits.sleep(Duration::from_secs(1)),
//!         }
//!     }
//! }
//! ```

use std::cell::Cell;
use std::time::{Duration, Instant};

use gem_coherency::Errno;

use crate::Process;
use crate::process::files::{File, OpenFile};
use crate::sync::progress::{Moment, Patience, RESTART};
use gem_coherency::vocabulary::Access;

/// The result of [`Process::attempt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The request is done, and returned this number.
    Done(i32),
    /// The request waits: it changed nothing, and is to be made again.
    Waits(Waits),
}

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    moment: Moment,
    until: Option<Instant>,
}

impl Waits {
    /// Starts to wait for anything: for a loop that calls this, then [`Process::signalled`] and the like, then
    /// [`Self::sleep`].
    pub fn now() -> Self {
        Self { moment: Moment::now(), until: None }
    }

    /// Sleeps until the request may have stopped waiting, at most for `timeout`.
    ///
    /// Anything that can end a wait on a device of this process ends the sleep, also if it happened before the call.
    /// While a batch polls memory, the sleep lasts a millisecond at most.
    pub fn sleep(&self, timeout: Duration) {
        let until = Instant::now().checked_add(timeout);
        self.moment.sleep(self.until.into_iter().chain(until).min());
    }

    /// Returns the time when the request stops waiting in any case, if there is one.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }
}

impl Process {
    /// Attempts ioctl(2): makes the request, unless it has to wait.
    ///
    /// A request that waits writes nothing to the caller's memory. It is to be made again with the same `since`, the
    /// time of the first attempt, from which timeouts count. Its arguments are read again, and its handles looked up
    /// again, in each attempt.
    ///
    /// # Errors
    /// As [`Self::ioctl`].
    pub fn attempt(&mut self, fd: i32, code: u32, argument: u64, since: Instant) -> Result<Attempt, Errno> {
        let file = OpenFile(self.files.get(fd)?);
        self.attempt_on(&file, code, argument, since)
    }

    /// As [`Self::attempt`], on an open file, whatever its descriptor is.
    ///
    /// # Errors
    /// As [`Self::attempt`].
    pub fn attempt_on(
        &mut self,
        file: &OpenFile,
        code: u32,
        argument: u64,
        since: Instant,
    ) -> Result<Attempt, Errno> {
        let moment = Moment::now();
        let patience = Patience::Restarts { since, until: Cell::new(None) };
        match self.request(file, code, argument, &patience) {
            Ok(result) => Ok(Attempt::Done(result)),
            Err(RESTART) => Ok(Attempt::Waits(Waits { moment, until: patience.until() })),
            Err(errno) => Err(errno),
        }
    }

    /// Returns whether poll(2) reports POLLIN: a fence is signalled; the GPU does not write a dma-buf. True for a
    /// syncobj's file, which cannot be polled.
    ///
    /// # Errors
    /// EBADF; EINVAL for a device's file.
    pub fn signalled(&self, fd: i32) -> Result<bool, Errno> {
        self.is_idle(fd, Access::Read)
    }

    /// Returns whether poll(2) reports POLLOUT: the GPU does not use a dma-buf. False for a fence, which reports no
    /// such event.
    ///
    /// # Errors
    /// As [`Self::signalled`].
    pub fn unused(&self, fd: i32) -> Result<bool, Errno> {
        self.is_idle(fd, Access::Write)
    }

    /// Returns whether an access need not wait for a file, as [`OpenFile::is_idle`] does.
    fn is_idle(&self, fd: i32, access: Access) -> Result<bool, Errno> {
        OpenFile(self.files.get(fd)?).is_idle(access).ok_or(Errno::EINVAL)
    }
}

impl OpenFile {
    /// Returns whether an access need not wait for the file (`sync_file_poll`, `dma_buf_poll`); `None`
    /// for a device.
    pub fn is_idle(&self, access: Access) -> Option<bool> {
        crate::sync::progress::look();
        match &self.0 {
            File::Fence(fence) => Some(access == Access::Read && fence.is_signalled()),
            File::DmaBuf(dma_buf) => Some(dma_buf.is_idle(access)),
            File::Syncobj(_) => Some(true),
            File::Device(_) => None,
        }
    }
}
