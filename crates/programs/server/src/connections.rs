//! The connections, so that a program that has ended is gone for the others.
//!
//! When waitpid(2) returns, the kernel has closed what the child had. Here a connection's thread may still be carrying
//! out a request of a program that was killed meanwhile; the next request of another program waits for it.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, MutexGuard};
use std::time::Duration;

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::files::errno;

/// Number of ended connections that are found by one call.
const BATCH: usize = 16;

/// Longest time to wait for the request of a program that has ended: it may wait for something itself.
const LONGEST: Duration = Duration::from_secs(1);

/// The connections.
#[derive(Debug)]
pub(crate) struct Connections {
    live: Mutex<BTreeSet<u64>>,
    ended: Condvar,
    /// Reports the connections whose program has closed its end.
    closed: Epoll,
    /// Number of connections and programs so far.
    named: AtomicU64,
}

impl Connections {
    /// Creates an empty set.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub(crate) fn new() -> Result<Self, Errno> {
        let closed = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(errno)?;
        Ok(Self { live: Mutex::default(), ended: Condvar::new(), closed, named: AtomicU64::new(0) })
    }

    /// Adds a connection until the result is dropped.
    ///
    /// # Errors
    /// ENOMEM, ENOSPC.
    pub(crate) fn add(self: &Arc<Self>, socket: BorrowedFd<'_>) -> Result<Live, Errno> {
        let number = self.name();
        // A hang-up is always reported.
        self.closed.add(socket, EpollEvent::new(EpollFlags::empty(), number)).map_err(errno)?;
        self.live().insert(number);
        Ok(Live { all: Arc::clone(self), number })
    }

    /// Returns a number that no other connection and no other program has.
    pub(crate) fn name(&self) -> u64 {
        // Relaxed: a unique number; it publishes no other data.
        self.named.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn live(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.live.lock()
    }
}

/// A connection in the set.
#[derive(Debug)]
pub(crate) struct Live {
    all: Arc<Connections>,
    number: u64,
}

impl Live {
    /// Waits until the other connections that their programs have closed are gone, unless this one is closed, too.
    pub(crate) fn settle(&self) {
        let mut events = [EpollEvent::empty(); BATCH];
        let count = self.all.closed.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        let closed: BTreeSet<u64> = events.iter().take(count).map(EpollEvent::data).collect();
        if closed.is_empty() || closed.contains(&self.number) {
            return;
        }
        let live = self.all.live();
        let waited = self.all.ended.wait_timeout_while(live, LONGEST, |live| !live.is_disjoint(&closed));
        drop(waited);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.all.live().remove(&self.number);
        self.all.ended.notify_all();
    }
}
