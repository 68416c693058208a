//! The duration of a trace: while a command runs, for a time, or until a signal.

use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use crate::args;
use crate::failure::Failure;

/// The condition that ends the trace.
#[derive(Debug)]
pub struct Watch {
    child: Option<Child>,
    ended: Option<ExitStatus>,
    until: Option<Instant>,
    signals: SignalFd,
}

impl Watch {
    /// Starts the command, if there is one. With `json` its output goes to standard error, because standard
    /// output is a single document.
    ///
    /// # Errors
    /// A command that cannot be started.
    pub fn start(args: &args::Trace, json: bool) -> Result<Self, Failure> {
        let failed =
            |what: &str, error: &dyn std::fmt::Display| Failure::Environment(format!("{what}: {error}"));
        let child = match args.command.split_first() {
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest);
                if json {
                    let stderr = io::stderr().as_fd().try_clone_to_owned();
                    command.stdout(stderr.map_or_else(|_| Stdio::null(), Stdio::from));
                }
                let name = program.to_string_lossy();
                Some(command.spawn().map_err(|error| failed(&format!("cannot run '{name}'"), &error))?)
            }
            None => None,
        };
        // Blocked after the command is started, because it would inherit the mask. If a signal ends gemtool
        // before this, the next trace removes what it left behind.
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        let cannot_wait = |errno: Errno| failed("cannot wait for signals", &errno);
        set.thread_block().map_err(cannot_wait)?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK).map_err(cannot_wait)?;
        let until = args.duration.map(|duration| Instant::now() + duration);
        Ok(Self { child, ended: None, until, signals })
    }

    /// Waits for at most `period`; returns whether the trace continues.
    ///
    /// # Errors
    /// The kernel's.
    pub fn is_running(&mut self, period: Duration) -> Result<bool, Failure> {
        let left = self.until.map_or(period, |until| until.saturating_duration_since(Instant::now()));
        let timeout = PollTimeout::try_from(period.min(left)).unwrap_or(PollTimeout::ZERO);
        let mut fds = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(Failure::Environment(format!("cannot wait: {errno}"))),
        }
        let signal = self.signals.read_signal().ok().flatten();
        let Some(child) = &mut self.child else {
            let is_over = self.until.is_some_and(|until| Instant::now() >= until);
            return Ok(signal.is_none() && !is_over);
        };
        // The command decides what a signal means. A terminal has already sent it Ctrl-C; a second one is
        // harmless.
        if let Some(signal) = signal
            && let Ok(signal) = Signal::try_from(signal.ssi_signo as i32)
            && let Ok(pid) = i32::try_from(child.id())
        {
            // The command may have ended by itself.
            let _ = kill(Pid::from_raw(pid), signal);
        }
        self.ended = child.try_wait()?;
        Ok(self.ended.is_none())
    }

    /// Returns the command's exit status or signal in words.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.ended
    }
}
