//! The memory and the descriptors of a program.

use std::io::{IoSlice, IoSliceMut};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency::units::{LineRange, PAGE_BYTES};
use gem_coherency::vocabulary::Access;
use gem_coherency_memory_model::Place;
use gem_coherency_protocol::{
    Call, EVICTS, Frame, MOST_PAYLOAD, Message, SEE_LOADS, SHOWS_LINEAR, SHOWS_MEMORY, SHOWS_NOTHING, frames,
};
use gem_coherency_sim::{EventFile, OpenFile, Pages, ProgramFiles, ProgramMemory, Shown};
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use super::eventfd::Eventfd;
use super::maps;
use super::session::Session;
use super::stale::StaleLines;

/// `CAP_SYS_NICE` of linux/capability.h.
const CAP_SYS_NICE: u32 = 23;

/// Number of pages that are looked at by one system call (`UIO_MAXIOV`).
const PAGES_AT_ONCE: usize = 1024;

/// A program, as the process of a software device sees it.
#[derive(Debug)]
pub(crate) struct Remote {
    session: Arc<Session>,
    pid: AtomicI32,
    /// The connection whose request is being carried out.
    connection: Mutex<Option<Arc<OwnedFd>>>,
    /// Lines that became stale, of which the program is not told yet.
    stale: Mutex<StaleLines>,
}

impl Remote {
    /// Creates the program with a process id.
    pub(crate) fn new(session: Arc<Session>, pid: Pid) -> Self {
        Self {
            session,
            pid: AtomicI32::new(pid.as_raw()),
            connection: Mutex::new(None),
            stale: Mutex::default(),
        }
    }

    /// Sets the process id, once a child knows its own.
    pub(crate) fn set_pid(&self, pid: Pid) {
        // Relaxed: a number; requests follow it on the same connection.
        self.pid.store(pid.as_raw(), Ordering::Relaxed);
    }

    /// Sets the connection on which the program is called.
    pub(crate) fn on(&self, connection: Option<&Arc<OwnedFd>>) {
        *self.connection.lock() = connection.cloned();
    }

    /// Notes lines of an object that became stale.
    pub(crate) fn note_stale(&self, object: u64, lines: &[LineRange]) {
        if !lines.is_empty() {
            self.stale.lock().add(object, lines);
        }
    }

    /// Returns and forgets these lines.
    pub(crate) fn take_stale(&self) -> StaleLines {
        std::mem::take(&mut *self.stale.lock())
    }

    pub(crate) fn pid(&self) -> Pid {
        // Relaxed: see `set_pid`.
        Pid::from_raw(self.pid.load(Ordering::Relaxed))
    }

    /// Asks the program for a call stack; empty if it does not know, or is gone.
    pub(crate) fn ask(&self, call: &Message) -> Vec<Frame> {
        let mut payload = [0; MOST_PAYLOAD];
        let answer = self.exchange(call, &[], &mut payload);
        answer.ok().and_then(|(_, len, _)| payload.get(..len).map(frames)).unwrap_or_default()
    }

    /// Calls the program; returns its answer.
    ///
    /// # Errors
    /// The answer's errno; EFAULT if the program is gone.
    fn call(&self, message: &Message, descriptors: &[RawFd]) -> Result<Message, Errno> {
        self.exchange(message, descriptors, &mut [0; MOST_PAYLOAD]).map(|(answer, ..)| answer)
    }

    /// Calls the program; returns its answer, the length of the payload, and the answer's descriptor.
    ///
    /// # Errors
    /// As [`Self::call`].
    fn exchange(
        &self,
        message: &Message,
        descriptors: &[RawFd],
        payload: &mut [u8; MOST_PAYLOAD],
    ) -> Result<(Message, usize, Option<OwnedFd>), Errno> {
        let connection = self.connection.lock().clone();
        let connection = connection.ok_or(Errno::EFAULT)?;
        let fd = connection.as_raw_fd();
        gem_coherency_protocol::send(fd, message, &[], descriptors).map_err(|_| Errno::EFAULT)?;
        let answer = gem_coherency_protocol::receive(fd, payload).map_err(|_| Errno::EFAULT)?;
        let copy = answer.descriptors.into_first();
        match answer.message.errno {
            0 => Ok((answer.message, answer.payload_bytes, copy)),
            errno => Err(Errno::new(errno)),
        }
    }

    /// Returns whether the program can load from each page of a range.
    fn can_load(&self, Range { start, end }: Range<u64>) -> bool {
        let mut bytes = [0; PAGES_AT_ONCE];
        let mut at = start;
        while at < end {
            let pages = (at..end).step_by(PAGE_BYTES as usize).take(PAGES_AT_ONCE);
            let remote: Option<Vec<_>> = pages
                .map(|page| usize::try_from(page).ok().map(|base| RemoteIoVec { base, len: 1 }))
                .collect();
            let Some(remote) = remote else { return false };
            let Some(into) = bytes.get_mut(..remote.len()) else { return false };
            let count = into.len();
            if process_vm_readv(self.pid(), &mut [IoSliceMut::new(into)], &remote) != Ok(count) {
                return false;
            }
            at = at.saturating_add(PAGES_AT_ONCE as u64 * PAGE_BYTES);
        }
        true
    }
}

/// Splits the bytes at `address` into pieces that are in one page each: the kernel copies such a piece whole or not.
fn pieces(address: u64, len: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = usize::try_from(address.checked_add(done as u64)?).ok()?;
        let room = (PAGE_BYTES - at as u64 % PAGE_BYTES) as usize;
        let piece = done..len.min(done + room);
        done = piece.end;
        (!piece.is_empty()).then_some((at, piece))
    })
}

impl ProgramMemory for Remote {
    fn read(&self, address: u64, data: &mut [u8]) -> usize {
        let Ok(base) = usize::try_from(address) else { return 0 };
        let whole = [RemoteIoVec { base, len: data.len() }];
        if process_vm_readv(self.pid(), &mut [IoSliceMut::new(data)], &whole) == Ok(data.len()) {
            return data.len();
        }
        for (base, piece) in pieces(address, data.len()) {
            let (at, len) = (piece.start, piece.len());
            let Some(part) = data.get_mut(piece) else { return at };
            let remote = [RemoteIoVec { base, len }];
            if process_vm_readv(self.pid(), &mut [IoSliceMut::new(part)], &remote) != Ok(len)
                && !maps::read_write_only(self.pid(), base as u64, part)
            {
                return at;
            }
        }
        data.len()
    }

    fn write(&self, address: u64, data: &[u8]) -> usize {
        for (base, piece) in pieces(address, data.len()) {
            let (at, len) = (piece.start, piece.len());
            let Some(part) = data.get(piece) else { return at };
            let remote = [RemoteIoVec { base, len }];
            if process_vm_writev(self.pid(), &[IoSlice::new(part)], &remote) != Ok(len) {
                return at;
            }
        }
        data.len()
    }

    fn holds(&self, address: u64, len: u64, allows: Option<Access>) -> bool {
        let range = address..address.saturating_add(len);
        let Some(areas) = maps::areas_of(self.pid(), &range) else { return false };
        areas.iter().all(|area| {
            let does_allow = match allows {
                None => true,
                Some(Access::Read) => area.loads,
                Some(Access::Write) => area.stores,
            };
            let part = range.start.max(area.range.start)..range.end.min(area.range.end);
            does_allow
                && match area.loads {
                    true => self.can_load(part),
                    false => !area.stores || maps::has_pages(self.pid(), part),
                }
        })
    }

    fn may_raise_priority(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let effective = status.ok().and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
            u64::from_str_radix(line.trim(), 16).ok()
        });
        effective.is_some_and(|effective| effective >> CAP_SYS_NICE & 1 != 0)
    }

    fn map(&self, shown: Shown, len: u64, pages: Pages, at: Option<u64>) -> Result<Option<u64>, Errno> {
        let protection = match pages {
            Pages::ReadWrite => 3,
            Pages::ReadOnly => 1,
            Pages::Executable => 7,
            Pages::None => 0,
        };
        let at = at.unwrap_or(0);
        let with_bytes = match &shown {
            Shown::Bytes(views) => Some(views.object),
            Shown::Linear { .. } | Shown::Nothing(_) => None,
        };
        let answer = match shown {
            Shown::Bytes(views) => {
                let is_hidden =
                    || self.session.judge.as_ref().is_some_and(|judge| judge.sees_loads(views.object));
                let flag = |is_set, flag| if is_set { flag } else { 0 };
                let shows = match views.shows {
                    Place::Cache => flag(is_hidden(), SEE_LOADS) | flag(views.evicts, EVICTS),
                    Place::Memory => SHOWS_MEMORY,
                };
                let message = Call::Map.with([len, protection, views.offset, shows, views.object, at]);
                let files = [views.cached.as_raw_fd(), views.memory.as_raw_fd(), views.filled.as_raw_fd()];
                self.call(&message, &files)
            }
            Shown::Linear { bytes, offset, object } => {
                let message = Call::Map.with([len, protection, offset, SHOWS_LINEAR, object, at]);
                self.call(&message, &[bytes.as_raw_fd()])
            }
            Shown::Nothing(object) => {
                self.call(&Call::Map.with([len, protection, 0, SHOWS_NOTHING, object, at]), &[])
            }
        };
        let answer = answer?;
        // A program learns of the stale lines of what it maps, too.
        if let (Some(object), Some(judge)) = (with_bytes, &self.session.judge) {
            self.note_stale(object, &judge.stale_lines(object));
        }
        Ok(Some(answer.operands[0]))
    }
}

impl ProgramFiles for Remote {
    fn file(&self, fd: i32) -> Result<OpenFile, Errno> {
        let number = u64::from(fd as u32);
        let cookie = self.call(&Call::Cookie.with([number]), &[])?.operands[0];
        self.session.files.get(cookie).ok_or(Errno::EINVAL)
    }

    fn install(&self, file: OpenFile, close_on_exec: bool) -> Result<i32, Errno> {
        let end = self.session.files.add(file)?;
        let answer = self.call(&Call::Install.with([u64::from(close_on_exec)]), &[end.as_raw_fd()])?;
        Ok(answer.operands[0] as u32 as i32)
    }

    fn event(&self, fd: i32) -> Result<Arc<dyn EventFile>, Errno> {
        let call = Call::Copy.with([u64::from(fd as u32)]);
        let (_, _, copy) = self.exchange(&call, &[], &mut [0; MOST_PAYLOAD])?;
        Ok(Arc::new(Eventfd::new(copy.ok_or(Errno::EBADF)?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_pages() {
        let all: Vec<_> = pieces(PAGE_BYTES - 4, 4104).collect();
        assert_eq!(all, [(4092, 0..4), (4096, 4..4100), (8192, 4100..4104)]);
        assert_eq!(pieces(0, 0).count(), 0);
        assert_eq!(pieces(u64::MAX - 1, 8).count(), 1, "ends with the address space");
    }
}
