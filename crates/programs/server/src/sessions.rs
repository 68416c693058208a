//! The sessions of a server: that of all programs, or one for each test of a suite.
//!
//! A test is the programs that say the same name at the same time, with their children; a program without a name is a test of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency_sim::SimDevice;
use nix::unistd::Pid;

use crate::judge::Judge;
use crate::program::session::Session;

/// Most bytes of a test's name.
const MOST_NAME: usize = 1024;

/// A suite of tests: each has devices of its own, and a judge.
pub trait Suite: fmt::Debug + Send + Sync {
    /// Begins a test.
    fn begin(&self, name: &str) -> Box<dyn Test>;
}

/// A test of a [`Suite`].
pub trait Test: fmt::Debug + Send + Sync {
    /// Returns its judge.
    fn judge(&self) -> Arc<dyn Judge>;

    /// The last program of the test has ended, or the server has.
    fn end(&self, session: &Session, ended: Ended);
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Number of its programs, without children that executed none.
    pub programs: u64,
    /// Number of those that did not exit: a signal ended them, or they are still running.
    pub unfinished: u64,
    /// The first exit status other than 0; 0 if there is none.
    pub status: i32,
    /// The time from its first connection to its last one's end.
    pub time: Duration,
}

/// The sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// That of all programs; with a suite, it has the files that programs look at, and no program.
    pub(crate) common: Arc<Session>,
    specs: Vec<String>,
    suite: Option<Arc<dyn Suite>>,
    state: Mutex<State>,
    /// A test has ended.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The tests that run, by name, or by a number that no name has.
    running: BTreeMap<String, Arc<Running>>,
    /// Number of the tests that run, or whose end is being told.
    busy: usize,
    /// The suite has ended: no test begins any more.
    closed: bool,
}

/// A test that runs.
#[derive(Debug)]
struct Running {
    key: String,
    session: Arc<Session>,
    test: Box<dyn Test>,
    since: Instant,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    connections: usize,
    /// The exit statuses, by program: `None` until it exits.
    programs: BTreeMap<u64, Option<i32>>,
}

/// A connection's part of a test, which ends with its last connection.
#[derive(Debug)]
pub(crate) struct Member {
    sessions: Arc<Sessions>,
    running: Arc<Running>,
}

impl Sessions {
    /// Creates the sessions of a server whose devices are `specs`.
    pub(crate) fn new(common: Session, specs: Vec<String>, suite: Option<Arc<dyn Suite>>) -> Self {
        let (common, state) = (Arc::new(common), Mutex::default());
        Self { common, specs, suite, state, changed: Condvar::new() }
    }

    /// Returns the sessions that programs may have, that of all programs first.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        let state = self.state();
        let of_tests = state.running.values().map(|running| &running.session);
        std::iter::once(&self.common).chain(of_tests).cloned().collect()
    }

    /// Returns the part in a test of a program that has said its name, if it has one, or the number that it got before; `None` without a
    /// suite.
    ///
    /// # Errors
    /// Those of opening the devices; EMFILE, ENFILE, ENOMEM; ENODEV if the suite has ended.
    pub(crate) fn join(
        self: &Arc<Self>,
        number: u64,
        name: &[u8],
        pid: Pid,
    ) -> Result<Option<Member>, Errno> {
        let Some(suite) = &self.suite else { return Ok(None) };
        let mut state = self.state();
        if state.closed {
            return Err(Errno::ENODEV);
        }
        let known = state.running.values().find(|running| number != 0 && running.session.has_client(number));
        if let Some(running) = known {
            return Ok(Some(self.member(running)));
        }
        let (key, name) = match name {
            // No variable has a zero.
            [] => (format!("\0{}", self.common.connections.name()), command_line(pid)),
            name => (cut(name), cut(name)),
        };
        if let Some(running) = state.running.get(&key) {
            return Ok(Some(self.member(running)));
        }
        let test = suite.begin(&name);
        let opened = self.specs.iter().map(|spec| SimDevice::open_for_programs(spec));
        let devices = opened.collect::<Result<Vec<_>, _>>().map_err(|error| {
            tracing::error!(%error, "the devices of a test");
            error.errno()
        })?;
        let shared = (Arc::clone(&self.common.connections), Arc::clone(&self.common.clock));
        let session = Session::new(devices, BTreeMap::new(), Some(test.judge()), shared)?;
        let (session, since, progress) = (Arc::new(session), Instant::now(), Mutex::default());
        let running = Arc::new(Running { key: key.clone(), session, test, since, progress });
        state.busy += 1;
        state.running.insert(key, Arc::clone(&running));
        Ok(Some(self.member(&running)))
    }

    /// Waits at most `longest` until no test has a program; ends those that have, and the suite. All ends are told when it returns.
    pub(crate) fn finish(&self, longest: Duration) {
        let state = self.state();
        let waited = self.changed.wait_timeout_while(state, longest, |state| state.busy > 0);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let left = std::mem::take(&mut state.running);
        state.closed = true;
        drop(state);
        for running in left.into_values() {
            self.end(&running);
        }
        drop(self.changed.wait_while(self.state(), |state| state.busy > 0));
    }

    /// Adds a connection to a test. The state is locked, so that the test does not end meanwhile.
    fn member(self: &Arc<Self>, running: &Arc<Running>) -> Member {
        running.progress.lock().connections += 1;
        Member { sessions: Arc::clone(self), running: Arc::clone(running) }
    }

    /// Tells the end of a test that is in the table no more.
    fn end(&self, running: &Running) {
        running.session.stop_shaders();
        running.test.end(&running.session, running.ended());
        self.state().busy -= 1;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Running {
    fn ended(&self) -> Ended {
        let Progress { programs, .. } = &*self.progress.lock();
        Ended {
            programs: programs.len() as u64,
            unfinished: programs.values().filter(|status| status.is_none()).count() as u64,
            status: programs.values().flatten().copied().find(|&status| status != 0).unwrap_or(0),
            time: self.since.elapsed(),
        }
    }
}

impl Member {
    /// Returns the session of the test.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.running.session
    }

    /// Returns the part of another connection of the same test.
    pub(crate) fn another(&self) -> Self {
        let _state = self.sessions.state();
        self.sessions.member(&self.running)
    }

    /// Adds a program with a number to the test.
    pub(crate) fn add_program(&self, number: u64) {
        self.running.progress.lock().programs.insert(number, None);
    }

    /// Notes the exit status of the program with a number, and not of a child that executed none; the last one counts.
    pub(crate) fn note_exit(&self, number: u64, status: i32) {
        if let Some(known) = self.running.progress.lock().programs.get_mut(&number) {
            *known = Some(status);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.sessions.state();
        let connections = {
            let mut progress = self.running.progress.lock();
            progress.connections -= 1;
            progress.connections
        };
        // `finish` may have ended the test before.
        let is_last = connections == 0 && state.running.remove(&self.running.key).is_some();
        drop(state);
        if is_last {
            self.sessions.end(&self.running);
        }
    }
}

/// Returns a name as text of at most [`MOST_NAME`] bytes.
fn cut(name: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(name).into_owned();
    text.truncate(text.floor_char_boundary(MOST_NAME));
    text
}

/// Returns the program and the arguments of a process; its id if they are hidden.
fn command_line(pid: Pid) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<String> =
        words.split(|&byte| byte == 0).map(cut).filter(|word| !word.is_empty()).collect();
    match &words[..] {
        [] => format!("process {pid}"),
        [program, arguments @ ..] => {
            let program = program.rsplit('/').next().unwrap_or(program).to_owned();
            cut([&[program], arguments].concat().join(" ").as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_between_characters() {
        let long = "ä".repeat(MOST_NAME);
        assert_eq!(cut(long.as_bytes()).len(), MOST_NAME);
        assert_eq!(cut(format!("a{long}").as_bytes()).len(), MOST_NAME - 1);
        assert_eq!(cut(b"a\xff"), "a\u{fffd}");
    }

    #[test]
    fn a_process_is_named_by_its_command_line() {
        let words: Vec<String> = std::env::args().collect();
        let program = words[0].rsplit('/').next().unwrap();
        let expected = [&[program.to_owned()], &words[1..]].concat().join(" ");
        assert_eq!(command_line(Pid::this()), expected);
        assert_eq!(command_line(Pid::from_raw(i32::MAX)), format!("process {}", i32::MAX));
    }
}
