//! The open files, by the cookie of the program's end.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::Access;
use gem_coherency_sim::{FileKind, OpenFile};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, socketpair};

/// The time between two looks at a fence that is not signalled.
const LOOK: Duration = Duration::from_millis(1);

/// Number of closed files that are found by one call.
const BATCH: usize = 16;

/// Returns an errno of nix as the library's.
pub(crate) fn errno(errno: nix::errno::Errno) -> Errno {
    Errno::new(errno as i32)
}

/// Creates two connected sockets.
///
/// # Errors
/// EMFILE, ENFILE, ENOMEM.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).map_err(errno)
}

/// An open file: a socket whose other end the program has.
#[derive(Clone, Debug)]
struct Entry {
    file: OpenFile,
    end: Arc<OwnedFd>,
    /// The program was told that the fence is signalled.
    told: Arc<AtomicBool>,
}

impl Entry {
    /// Sends the events that are due; returns the time of the next one.
    ///
    /// A program reads an event of a device with each read(2). It polls a fence, which has nothing to read.
    fn deliver(&self, now: Instant) -> Option<Instant> {
        let send = |bytes: &[u8]| {
            // A program that does not read its events loses those for which the socket has no room.
            nix::sys::socket::send(
                self.end.as_raw_fd(),
                bytes,
                MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL,
            )
        };
        if let Some(device) = self.file.device() {
            let (events, next) = device.events(now);
            for event in &events {
                let _ = send(event);
            }
            return next;
        }
        // Relaxed: only this thread and the one that adds the file look.
        let untold = self.file.kind() == FileKind::Fence && !self.told.load(Ordering::Relaxed);
        if !untold {
            return None;
        }
        if self.file.is_idle(Access::Read) == Some(true) {
            self.told.store(send(&[0]).is_ok(), Ordering::Relaxed);
            return None;
        }
        now.checked_add(LOOK)
    }
}

/// The open files.
#[derive(Debug)]
pub(crate) struct Files {
    open: Mutex<BTreeMap<u64, Entry>>,
    /// Reports the ends whose other end is closed.
    closed: Epoll,
    /// Held while events are delivered to copies of the entries.
    delivering: Mutex<()>,
}

impl Files {
    /// Creates an empty table.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub(crate) fn new() -> Result<Self, Errno> {
        let closed = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(errno)?;
        Ok(Self { open: Mutex::default(), closed, delivering: Mutex::default() })
    }

    /// Adds a file; returns the program's end.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub(crate) fn add(&self, file: OpenFile) -> Result<OwnedFd, Errno> {
        let (theirs, ours) = pair()?;
        let cookie = gem_coherency_protocol::cookie(theirs.as_raw_fd()).map_err(Errno::new)?;
        // A hang-up is always reported.
        self.closed.add(&ours, EpollEvent::new(EpollFlags::empty(), cookie)).map_err(errno)?;
        let entry = Entry { file, end: Arc::new(ours), told: Arc::default() };
        entry.deliver(Instant::now());
        self.table().insert(cookie, entry);
        Ok(theirs)
    }

    /// Returns the file with a cookie.
    pub(crate) fn get(&self, cookie: u64) -> Option<OpenFile> {
        self.table().get(&cookie).map(|entry| entry.file.clone())
    }

    /// Closes the files of which no program has a descriptor.
    ///
    /// close(2) of the last descriptor has hung up the socket when it returns, so that a program's next request finds
    /// the file closed.
    pub(crate) fn reap(&self) {
        loop {
            let mut events = [EpollEvent::empty(); BATCH];
            let count = self.closed.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
            let gone: Vec<Entry> = {
                let mut table = self.table();
                events.iter().take(count).filter_map(|event| table.remove(&event.data())).collect()
            };
            if !gone.is_empty() {
                // A delivery that began before may have a copy, which would keep the file open.
                drop(self.delivery());
            }
            // Closing a file may free objects and files; no lock is held.
            drop(gone);
            if count < BATCH {
                return;
            }
        }
    }

    /// Sends the events that are due; returns the time of the next one.
    pub(crate) fn deliver(&self, now: Instant) -> Option<Instant> {
        let _delivery = self.delivery();
        let entries: Vec<Entry> = self.table().values().cloned().collect();
        entries.iter().filter_map(|entry| entry.deliver(now)).min()
    }

    /// Returns the number of open files.
    pub(crate) fn count(&self) -> usize {
        self.table().len()
    }

    fn delivery(&self) -> MutexGuard<'_, ()> {
        self.delivering.lock()
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<u64, Entry>> {
        self.open.lock()
    }
}
