//! The process of a program: one for all its threads and connections.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency::units::LineRange;
use gem_coherency_protocol::{Frame, Message};
use gem_coherency_sim::{OpenFile, Process, ProgramFiles as _, ProgramMemory};
use nix::unistd::Pid;

use super::remote::Remote;
use super::session::Session;
use super::stale::StaleLines;
use crate::judge::RecordWriters;

/// A program's process.
#[derive(Debug)]
pub(crate) struct Client {
    number: u64,
    session: Arc<Session>,
    remote: Arc<Remote>,
    process: Mutex<Process>,
    writers: Arc<RecordWriters>,
}

impl Client {
    /// Creates the process of a program that has just connected.
    pub(crate) fn new(session: &Arc<Session>, pid: Pid) -> Arc<Self> {
        let remote = Arc::new(Remote::new(Arc::clone(session), pid));
        let process = Process::of_program_with_files(remote.clone(), remote.clone());
        Self::register(session, remote, process, Arc::default())
    }

    /// Creates the process of a child, which has the same mappings.
    ///
    /// # Errors
    /// Never for a program's process.
    pub(crate) fn fork(&self) -> Result<Arc<Self>, Errno> {
        // The child tells its id when it exists.
        let remote = Arc::new(Remote::new(Arc::clone(&self.session), Pid::from_raw(0)));
        let process = self.process.lock();
        let process = process.fork(remote.clone(), remote.clone())?;
        Ok(Self::register(&self.session, remote, process, Arc::clone(&self.writers)))
    }

    fn register(
        session: &Arc<Session>,
        remote: Arc<Remote>,
        process: Process,
        writers: Arc<RecordWriters>,
    ) -> Arc<Self> {
        let number = session.connections.name();
        let client = Arc::new(Self {
            number,
            session: Arc::clone(session),
            remote,
            process: Mutex::new(process),
            writers,
        });
        session.add(&client);
        client
    }

    /// Returns the number that names the process to the program.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the processes with which it shares its files of records.
    pub(crate) fn writers(&self) -> &Arc<RecordWriters> {
        &self.writers
    }

    /// Sets the process id of a child.
    pub(crate) fn set_pid(&self, pid: Pid) {
        self.remote.set_pid(pid);
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> Pid {
        self.remote.pid()
    }

    /// Returns the program's memory.
    pub(crate) fn memory(&self) -> &dyn ProgramMemory {
        self.remote.as_ref()
    }

    /// Asks the program for a call stack during its request; empty if it does not know, or is gone.
    pub(crate) fn ask(&self, connection: &Arc<OwnedFd>, call: &Message) -> Vec<Frame> {
        self.with(connection, |_| self.remote.ask(call))
    }

    /// Notes lines of an object that became stale, of which the program is told later.
    pub(crate) fn note_stale(&self, object: u64, lines: &[LineRange]) {
        self.remote.note_stale(object, lines);
    }

    /// Returns and forgets these lines.
    pub(crate) fn take_stale(&self) -> StaleLines {
        self.remote.take_stale()
    }

    /// Leaves the descriptor of a file in the program's table, during its request; returns its number.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM; EFAULT if the program is gone.
    pub(crate) fn install(
        &self,
        connection: &Arc<OwnedFd>,
        file: OpenFile,
        close_on_exec: bool,
    ) -> Result<i32, Errno> {
        self.with(connection, |_| self.remote.install(file, close_on_exec))
    }

    /// Runs `request` on the process, which calls the program on `connection`.
    pub(crate) fn with<T>(&self, connection: &Arc<OwnedFd>, request: impl FnOnce(&mut Process) -> T) -> T {
        let mut process = self.process.lock();
        self.remote.on(Some(connection));
        let done = request(&mut process);
        self.remote.on(None);
        done
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.session.forget(self.number);
    }
}
