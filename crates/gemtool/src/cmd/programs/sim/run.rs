//! Runs a program on the devices of a server that lives as long.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use gem_coherency_report::{CoverageRow, coverage};
use gem_coherency_server::{Server, Session, Settings};
use gem_coherency_sim::PREFIX;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;

use super::{ENDING, cannot_wait, executable, preload, raise_file_limit, set_of, tell_kernels, with_hint};
use crate::args;
use crate::failure::Failure;
use crate::visible::visible;

/// The longest time in which programs of tests may end after the program that started them.
const LONGEST: Duration = Duration::from_secs(5);

/// The exit status that a shell gives a program that signal 0 would have ended.
const SIGNALLED: i32 = 128;

/// A program that ended.
pub struct Ran {
    /// Its exit status, as a shell has it.
    pub status: u8,
    /// The requests of the program and its children.
    pub requests: Requests,
}

/// The requests of programs, by code.
#[derive(Clone, Debug, Serialize)]
pub struct Requests {
    /// One row for each code.
    pub requests: Vec<RequestRow>,
    /// What the devices simulated of the batches.
    pub coverage: Vec<CoverageRow>,
}

/// A request, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct RequestRow {
    /// The code, as ioctl(2) takes it.
    pub code: String,
    /// The name in the kernel's headers.
    pub name: Option<&'static str>,
    /// How often it was made.
    pub count: u64,
    /// How often it failed, by errno.
    pub errors: Vec<(String, u64)>,
}

impl Requests {
    fn of(session: &Session) -> Self {
        let rows = session.requests().into_iter().map(|request| RequestRow {
            code: format!("{:#010x}", request.code),
            name: request.name,
            count: request.count,
            errors: request.errors.iter().map(|(errno, count)| (errno.to_string(), *count)).collect(),
        });
        Self { requests: rows.collect(), coverage: coverage(session) }
    }
}

/// Runs the program of `gemtool sim`.
///
/// # Errors
/// As [`on_server`].
pub fn run(args: &args::Sim) -> Result<Ran, Failure> {
    let (status, server) = on_server(&args.devices.0, &args.program, &Settings::default())?;
    Ok(Ran { status, requests: Requests::of(server.session()) })
}

/// Runs a program on a new server; returns its exit status as a shell has it, and the server.
///
/// # Errors
/// For devices that do not exist, and a program that cannot be run or not be intercepted.
pub fn on_server(
    devices: &[String],
    program: &[OsString],
    settings: &Settings,
) -> Result<(u8, Server), Failure> {
    let Some((name, rest)) = program.split_first() else {
        return Err(Failure::flag("PROGRAM", "it is missing"));
    };
    let program = executable::find(name)?;
    let library = preload::find()?;
    // The server's threads leave the signals to this one, and the program inherits nothing of it.
    let signals = set_of(ENDING.into_iter().chain([Signal::SIGCHLD]));
    signals.thread_block().map_err(cannot_wait)?;
    let server = Server::start(devices, settings);
    signals.thread_unblock().map_err(cannot_wait)?;
    let is_real = devices.iter().any(|device| !device.starts_with(PREFIX));
    let server = server
        .map_err(|error| Failure::flag(if is_real { "--device" } else { "DEVICES" }, with_hint(&error)))?;
    tell_kernels(devices);
    let mut command = Command::new(program);
    command.args(rest);
    preload::set(&mut command, &library, &server);
    if settings.judge.is_some() || settings.suite.is_some() {
        preload::keep_copies_in_cache(&mut command);
    }
    let mut child = command
        .spawn()
        .map_err(|error| Failure::Environment(format!("cannot run '{}': {error}", name.to_string_lossy())))?;
    // The program keeps the limit that it was given.
    raise_file_limit();
    signals.thread_block().map_err(cannot_wait)?;
    loop {
        if let Some(status) = child.try_wait()? {
            let status = status_of(status);
            explain(name, status);
            server.finish_tests(LONGEST);
            server.session().stop_shaders();
            return Ok((status, server));
        }
        let signal = signals.wait().map_err(cannot_wait)?;
        if signal != Signal::SIGCHLD
            && let Ok(pid) = i32::try_from(child.id())
        {
            // The program decides what a signal means; it may have ended by itself.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

/// Says on standard error why a program, or one that it started, ended by SIGSYS.
fn explain(name: &OsStr, status: u8) {
    if i32::from(status) == SIGNALLED + Signal::SIGSYS as i32 {
        let name = name.to_string_lossy();
        // Standard error may be closed; the exit status still reports the signal.
        let _ = writeln!(
            io::stderr(),
            "gemtool: '{}' was killed by SIGSYS: its seccomp filter refuses a system call, which may be one that programs on \
             software devices need; allow these calls, or switch the program's sandbox off",
            visible(&name)
        );
    }
}

/// Returns the status as a shell's `$?`.
fn status_of(status: ExitStatus) -> u8 {
    let number = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, signal) => SIGNALLED + signal.unwrap_or(0),
    };
    u8::try_from(number).unwrap_or(u8::MAX)
}
