//! Starts tracing, reads the trace, and removes everything at the end.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use gem_coherency::Errno;
use tracing::{debug, warn};

use super::error::{Error, Result};

use super::parse::Parser;
use super::probes::{At, PREFIX, PROBES, Probe, SHARED, Scope, TRACEPOINTS};
use super::trace_event::TraceEvent;
use super::tracefs::{append, failed, find, lock, open_nonblocking, read, try_lock, write};
use super::xe;

/// Prefix of the names of every tracer's group and instance.
const NAME: &str = "gemco";

/// The option that hides the addresses of tracepoints.
const HASH_PTR: &str = "options/hash-ptr";

/// Largest size of a mark in bytes: the kernel cuts longer ones.
const MARK_BYTES: usize = 900;

/// Bytes to read at once: the kernel never returns more than a page.
const READ_BYTES: usize = 4096;

/// A trace of a driver's flushes, as long as it exists.
///
/// It defines its own kprobes and, where the kernel supports instances, records into its own instance, so
/// that other tracing is not affected. Dropping it removes both; the next tracer removes those of a killed
/// process.
///
/// A tracer holds a lock on the directory that it records into (flock(2)). The lock ends with the process,
/// and is visible from every PID namespace and mount of tracefs, unlike a process ID in a name. A lock on
/// `instances` serializes starts and ends of tracers.
#[derive(Debug)]
pub struct Tracer {
    /// The mounted tracefs.
    root: PathBuf,
    /// The directory to record into: the instance, or the root.
    directory: PathBuf,
    /// The kprobes' group, and the instance's name.
    group: String,
    /// The kprobes defined so far.
    probes: Vec<&'static str>,
    /// Functions and tracepoints that could not be probed.
    missing: Vec<&'static str>,
    /// `trace_pipe`, once everything is set up.
    pipe: Option<File>,
    /// `trace_marker`.
    marker: Option<File>,
    parser: Parser,
    /// `directory`, locked: shows other tracers that this one is alive.
    _alive: File,
}

impl Tracer {
    /// Starts tracing i915's flushes.
    ///
    /// # Errors
    /// [`Error`] without root, tracefs or kprobes.
    pub fn start() -> Result<Self> {
        Self::of(Scope::Flushes)
    }

    /// Checks that there is a tracefs for this process.
    ///
    /// # Errors
    /// [`Error`] without root, tracefs or kprobes.
    pub fn check() -> Result<()> {
        find().map(drop)
    }

    /// Starts tracing i915 with this scope.
    ///
    /// # Errors
    /// [`Error`] without root, tracefs or kprobes.
    pub fn of(scope: Scope) -> Result<Self> {
        let probes: Vec<_> = PROBES.iter().filter(|probe| probe.scope <= scope).collect();
        Self::with(&probes, TRACEPOINTS, scope)
    }

    /// Starts tracing xe: its requests, and the flushes of new pages.
    ///
    /// # Errors
    /// [`Error`] without root, tracefs or kprobes.
    pub fn of_xe() -> Result<Self> {
        let shared = PROBES.iter().filter(|probe| SHARED.contains(&probe.name));
        let probes: Vec<_> = shared.chain(xe::PROBES).collect();
        Self::with(&probes, &[], Scope::Calls)
    }

    /// Starts tracing with these probes and tracepoints.
    fn with(
        probes: &[&'static Probe],
        tracepoints: &'static [(&str, &'static str)],
        scope: Scope,
    ) -> Result<Self> {
        let root = find()?;
        let (group, directory, alive) = {
            let _lock = lock_instances(&root)?;
            remove_leftovers(&root)?;
            claim(&root)?
        };
        // From here on a drop undoes the setup.
        let mut tracer = Self {
            root,
            directory,
            group,
            probes: Vec::new(),
            missing: Vec::new(),
            pipe: None,
            marker: None,
            parser: Parser::default(),
            _alive: alive,
        };
        tracer.define(probes)?;
        tracer.enable(tracepoints, scope)?;
        debug!(directory = %tracer.directory.display(), missing = ?tracer.missing, "tracing");
        Ok(tracer)
    }

    /// Returns the functions and tracepoints that this kernel lacks, or that it does not allow to be probed.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// Writes a mark into the trace, to which the following events belong. A mark is one line, cut after 900
    /// bytes.
    ///
    /// # Errors
    /// [`Error`].
    pub fn mark(&self, text: &str) -> Result<()> {
        let mut end = text.len().min(MARK_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let line: String =
            text[..end].chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
        let path = self.directory.join("trace_marker");
        // The file is open from start to drop.
        let Some(mut marker) = self.marker.as_ref() else { return write(&path, &line) };
        marker.write_all(line.as_bytes()).map_err(|error| failed("write", &path, &error))
    }

    /// Returns the events since the last call, oldest first. Does not wait.
    ///
    /// Frequent calls are cheaper than large ones: the kernel's cost of an event grows with the number of
    /// events (100 events 1 ms, 3000 events 220 ms in an emulated machine, where reading and clearing the
    /// whole trace takes at least 27 ms).
    ///
    /// # Errors
    /// [`Error`].
    pub fn take(&mut self) -> Result<Vec<TraceEvent>> {
        let mut seen = Vec::new();
        let Some(pipe) = self.pipe.as_mut() else { return Ok(seen) };
        let mut bytes = [0; READ_BYTES];
        loop {
            match pipe.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => self.parser.feed(bytes.get(..count).unwrap_or(&bytes), &mut seen),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("read", &self.directory.join("trace_pipe"), &error)),
            }
        }
        Ok(seen)
    }

    /// Defines the kprobes.
    ///
    /// Of two with a name the second one is for kernels that lack the first one's function.
    fn define(&mut self, probes: &[&'static Probe]) -> Result<()> {
        let events = self.root.join("kprobe_events");
        let mut first_error = None;
        let mut refused = Vec::new();
        for Probe { name, at, function, fetch, .. } in probes {
            if self.probes.contains(name) {
                continue;
            }
            let letter = match at {
                At::Entry => 'p',
                At::Return => 'r',
            };
            match append(&events, &format!("{letter}:{}/{PREFIX}{name} {function} {fetch}\n", self.group)) {
                Ok(()) => self.probes.push(name),
                Err(error) => {
                    debug!(function, %error, "not probed");
                    refused.push((name, *function));
                    first_error.get_or_insert(error);
                }
            }
        }
        for (name, function) in refused {
            if !self.probes.contains(name) && !self.missing.contains(&function) {
                self.missing.push(function);
            }
        }
        // A single function may be missing; if none can be probed, the kprobes are at fault.
        match first_error {
            Some(error) if self.probes.is_empty() => Err(error),
            Some(_) | None => Ok(()),
        }
    }

    /// Enables the events, and opens the files to read them from.
    fn enable(&mut self, tracepoints: &'static [(&str, &'static str)], scope: Scope) -> Result<()> {
        let directory = self.directory.clone();
        // The tracepoints' addresses must be comparable with those of the kprobes. Linux 5.10 always hashes them; flushes
        // can do without the tracepoints.
        let mut tracepoints = tracepoints;
        if scope == Scope::Flushes && !directory.join(HASH_PTR).exists() {
            tracepoints = &[];
            self.missing.extend(TRACEPOINTS.iter().map(|&(_, name)| name));
        } else {
            write(&directory.join(HASH_PTR), "0")?;
        }
        if self.has_instance() {
            write(&directory.join("trace_clock"), "mono")?;
        }
        self.pipe = Some(open_nonblocking(&directory.join("trace_pipe"))?);
        let marker = directory.join("trace_marker");
        let opened = fs::OpenOptions::new().write(true).open(&marker);
        self.marker = Some(opened.map_err(|error| failed("write", &marker, &error))?);
        for &(system, name) in tracepoints {
            let enable = directory.join("events").join(system).join(name).join("enable");
            if let Err(error) = write(&enable, "1") {
                debug!(system, name, %error, "not traced");
                self.missing.push(name);
            }
        }
        write(&directory.join("events").join(&self.group).join("enable"), "1")
    }

    fn has_instance(&self) -> bool {
        self.directory != self.root
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // Without the lock the cleanup is the same; a tracer that starts at this moment may have removed a
        // part.
        let _lock = lock_instances(&self.root);
        self.pipe = None;
        self.marker = None;
        let off = |path: PathBuf| {
            // An event that was never enabled has no file.
            if path.exists()
                && let Err(error) = write(&path, "0")
            {
                warn!(%error, "an event could not be disabled");
            }
        };
        off(self.directory.join("events").join(&self.group).join("enable"));
        for &(system, name) in TRACEPOINTS {
            off(self.directory.join("events").join(system).join(name).join("enable"));
        }
        if self.has_instance() {
            if let Err(error) = fs::remove_dir(&self.directory) {
                warn!(%error, path = %self.directory.display(), "a trace instance is left behind");
            }
        } else if self.directory.join(HASH_PTR).exists()
            && let Err(error) = write(&self.directory.join(HASH_PTR), "1")
        {
            warn!(%error, "the trace option hash-ptr could not be restored");
        }
        for name in &self.probes {
            let removed =
                append(&self.root.join("kprobe_events"), &format!("-:{}/{PREFIX}{name}\n", self.group));
            if let Err(error) = removed {
                warn!(%error, name, "a kprobe is left behind");
            }
        }
    }
}

/// Waits until no other tracer starts or ends, and blocks them as long as the file is open.
fn lock_instances(root: &Path) -> Result<File> {
    lock(&root.join("instances"))
}

/// Claims a free group name, with an instance of the same name if the kernel allows one; returns the group,
/// the directory to record into, and the lock on it.
fn claim(root: &Path) -> Result<(String, PathBuf, File)> {
    let defined = read(&root.join("kprobe_events"))?;
    let is_free =
        |group: &String| !defined.lines().filter_map(group_and_event).any(|(other, _)| other == group);
    for group in (0u32..).map(|number| format!("{NAME}_{number}")).filter(is_free) {
        let instance = root.join("instances").join(&group);
        let (group, directory) = match fs::create_dir(&instance) {
            Ok(()) => (group, instance),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => {
                warn!(%error, "cannot create a trace instance: recording into the kernel's main trace");
                // A name that no instance has or will get.
                (group + "_", root.to_owned())
            }
        };
        let alive = try_lock(&directory)?.ok_or_else(|| Error {
            action: "lock",
            path: directory.clone(),
            errno: Errno::EBUSY,
        })?;
        return Ok((group, directory, alive));
    }
    Err(Error { action: "name a group in", path: root.to_owned(), errno: Errno::EBUSY })
}

/// Removes the groups and instances of processes that have ended.
fn remove_leftovers(root: &Path) -> Result<()> {
    let is_ours = |group: &str| {
        let rest = group.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('_'));
        rest.is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        })
    };
    let dead = |group: &str| {
        let instance = root.join("instances").join(group);
        let directory = if instance.exists() { &instance } else { root };
        // A tracer whose lock cannot be checked counts as alive.
        is_ours(group) && matches!(try_lock(directory), Ok(Some(_)))
    };
    // A tracer without an instance leaves its events enabled in the main trace.
    let events = root.join("kprobe_events");
    let defined = read(&events)?;
    let groups: Vec<_> =
        defined.lines().filter_map(group_and_event).filter(|(group, _)| dead(group)).collect();
    for (group, _) in &groups {
        let instance = root.join("instances").join(group);
        for directory in [&instance, root] {
            let enable = directory.join("events").join(group).join("enable");
            if enable.exists() {
                write(&enable, "0")?;
            }
        }
    }
    if let Ok(instances) = fs::read_dir(root.join("instances")) {
        for instance in instances.flatten().filter(|entry| entry.file_name().to_str().is_some_and(dead)) {
            fs::remove_dir(instance.path()).map_err(|error| failed("remove", &instance.path(), &error))?;
        }
    }
    for (group, event) in &groups {
        append(&events, &format!("-:{group}/{event}\n"))?;
    }
    Ok(())
}

/// Parses the group and the event of a line of `kprobe_events`: `p:GROUP/EVENT FUNCTION ARGUMENTS`.
fn group_and_event(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_whitespace().next()?.split_once('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kprobe_definition_parses_to_group_and_event() {
        let line = "p:gemco_17_0/gemco_sg drm_clflush_sg pages=$arg1:x64 caller=$stack0:symbol";
        assert_eq!(group_and_event(line), Some(("gemco_17_0", "gemco_sg")));
        assert_eq!(group_and_event("r8:g/e f"), Some(("g", "e")));
        assert_eq!(group_and_event(""), None);
        assert_eq!(group_and_event("p:"), None);
    }
}
