//! Starting and stopping a server.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gem_coherency::backend::Drm;
use gem_coherency::platform::Platform;
use gem_coherency_sim::{PREFIX, Soft, deliver_events};
use gem_coherency_wire::{ENVIRONMENT, FOLDER, SOCKET, ask_for_senders};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, Shutdown, SockFlag, SockType, UnixAddr, bind, connect, listen, shutdown, socket,
};
use tempfile::TempDir;

use crate::across::{Across, FlushSite};
use crate::connection::Connection;
use crate::domain_calls::DomainSite;
use crate::error::ServeError;
use crate::findings::{Finding, Findings};
use crate::folder::Folder;
use crate::history::History;
use crate::mirror::{Disagreement, Mirror};
use crate::node::MOST_DEVICES;
use crate::requests::RequestCount;
use crate::screens;
use crate::shared::Shared;

/// The folder of files in memory (shm_overview(7)).
const MEMORY: &str = "/dev/shm";

/// Objects of a device that have numbers of their own.
const OBJECTS: u64 = 1 << 32;

/// The settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The folder of the server, which is created if it is missing; without it, a temporary one.
    pub folder: Option<PathBuf>,
    /// Collect what programs do wrong.
    pub findings: bool,
    /// Judge what programs do by these platforms in place of the devices' own; empty for the devices' own. The devices
    /// then tell every program the newest bytes.
    pub platforms: Vec<&'static Platform>,
    /// Record the histories of objects, too, for findings by the devices' own rules.
    pub history: bool,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
    folder: PathBuf,
    /// The folder, if it is removed with the server.
    _temporary: Option<TempDir>,
    listener: Arc<Listener>,
    threads: Vec<JoinHandle<()>>,
}

/// A socket that listens at a path, which ends with it.
#[derive(Debug)]
struct Listener {
    socket: UnixListener,
    path: PathBuf,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Server {
    /// Starts a server of the devices `specs`, each as [`Soft::open_for_programs`] takes it, or the path of a real one, which runs the
    /// batches then and answers beside a software device of the same platform.
    ///
    /// # Errors
    /// For a device that cannot be opened, and a folder or a socket that cannot be created, as if a server has it.
    pub fn start<S: AsRef<str>>(specs: &[S], settings: &Settings) -> Result<Self, ServeError> {
        let failed = |path: PathBuf| move |error: io::Error| ServeError::File { path, error };
        let (folder, temporary) = match &settings.folder {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(failed(folder.clone()))?;
                // Programs find it from any folder of theirs.
                (folder.canonicalize().map_err(failed(folder.clone()))?, None)
            }
            None => {
                let temporary = temporary_folder().map_err(failed(std::env::temp_dir()))?;
                (temporary.path().to_path_buf(), Some(temporary))
            }
        };
        if specs.len() > MOST_DEVICES {
            return Err(ServeError::TooManyDevices { devices: specs.len(), most: MOST_DEVICES });
        }
        let (mut devices, mut mirrors) = (Vec::new(), BTreeMap::new());
        for (number, spec) in specs.iter().map(AsRef::as_ref).enumerate() {
            if spec.starts_with(PREFIX) {
                let failed = |error| ServeError::Device { spec: spec.to_owned(), error };
                devices.push(Soft::open_for_programs(spec).map_err(failed)?);
            } else {
                let (device, mirror) = Mirror::open(spec)?;
                devices.push(device);
                mirrors.insert(number, mirror);
            }
        }
        let judged = settings.findings && !settings.platforms.is_empty();
        let findings = settings.findings.then(|| Findings::new(settings.history && !judged));
        let across = settings.findings.then(|| Across::new(&devices, &settings.platforms));
        for (number, device) in (0..).zip(&devices) {
            device.watch(settings.findings && !judged);
            device.record(findings.as_ref().is_some_and(|findings| findings.histories.is_some()));
            // Programs and findings name an object by its number alone.
            device.number_objects_from(number * OBJECTS + 1);
        }
        let socket = folder.join(SOCKET);
        let listener = Arc::new(Listener::at(&socket).map_err(failed(socket.clone()))?);
        // Nobody else has the folder now.
        let files = Folder::new(folder.join(FOLDER))?;
        let shared = Shared::new(devices, files, mirrors, findings, across)
            .map_err(|errno| failed(folder.clone())(io::Error::from_raw_os_error(errno.get())))?;
        let shared = Arc::new(shared);
        let accepting = {
            let (shared, listener) = (Arc::clone(&shared), Arc::clone(&listener));
            let thread = std::thread::Builder::new().name("accept".to_owned());
            thread.spawn(move || accept(&shared, &listener.socket)).map_err(failed(folder.clone()))?
        };
        let delivering = {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("events".to_owned());
            thread.spawn(move || deliver(&shared)).map_err(failed(folder.clone()))?
        };
        Ok(Self { shared, folder, _temporary: temporary, listener, threads: vec![accepting, delivering] })
    }

    /// Returns the server's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the environment variable by which a program finds the server.
    pub fn environment(&self) -> (&'static str, &Path) {
        (ENVIRONMENT, &self.folder)
    }

    /// Returns the requests of all programs so far, by code.
    pub fn requests(&self) -> Vec<RequestCount> {
        self.shared.requests.all()
    }

    /// Returns the names of the devices; a real device has that of the software device beside it.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.shared.devices.iter().map(Drm::name)
    }

    /// Returns the requests so far that the kernel of a real device answered otherwise than the software device.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        self.shared.mirrors.values().flat_map(|mirror| mirror.disagreements()).collect()
    }

    /// Returns what programs did wrong so far, if that is collected.
    pub fn findings(&self) -> Vec<Finding> {
        self.shared.files.reap();
        screens::settle(&self.shared);
        self.shared.findings.as_ref().map(Findings::all).unwrap_or_default()
    }

    /// Returns the flushes of programs so far by place, if they are collected, with the verdicts that they have if the run ends now.
    pub fn flush_sites(&self) -> Vec<FlushSite> {
        let across = self.shared.across.as_ref();
        across.map(|across| across.sites(&self.shared.devices)).unwrap_or_default()
    }

    /// Returns the number of lines that a GPU wrote without looking into the cache, where a program may have stored the bytes that were
    /// there, which is not seen: what the GPU wrote there may be lost.
    pub fn possibly_lost(&self) -> u64 {
        self.shared.across.as_ref().map_or(0, Across::possibly_lost)
    }

    /// Returns the platforms that refuse requests which programs made, by name, with the kernel's reasons; empty
    /// unless runs are judged by [`Settings::platforms`].
    pub fn refusals(&self) -> BTreeMap<&'static str, Vec<&'static str>> {
        let across = self.shared.across.as_ref().filter(|across| across.by_many);
        across.map(|across| across.refusals(&self.shared.devices)).unwrap_or_default()
    }

    /// Returns the number of flushes and accesses that were lost, so that judgements by
    /// [`Settings::platforms`] may be wrong: programs made too many between two requests.
    pub fn lost(&self) -> u64 {
        self.shared.across.as_ref().map_or(0, Across::lost)
    }

    /// Returns the domain changes of programs so far by place, if they are collected.
    pub fn domain_sites(&self) -> Vec<DomainSite> {
        self.shared.findings.as_ref().map(|findings| findings.domains.all()).unwrap_or_default()
    }

    /// Returns what happened to a finding's object before its first time, if that is recorded; `finding` is the place in
    /// [`Self::findings`]. The first 64 findings have histories, of objects of up to 16 MiB.
    pub fn history(&self, finding: usize) -> Option<History> {
        self.shared.findings.as_ref()?.history(finding)
    }

    /// Ends the GPU kernels that run, and those that are started from now on, because no program waits for them.
    pub fn stop_kernels(&self) {
        self.shared.devices.iter().for_each(Soft::stop_kernels);
    }

    /// Returns the number of programs that are connected.
    pub fn programs(&self) -> usize {
        self.shared.clients_count()
    }

    /// Returns the number of files that programs have open.
    pub fn open_files(&self) -> usize {
        self.shared.files.reap();
        self.shared.files.count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ends accept(2); the connections end with their programs.
        let _ = shutdown(self.listener.socket.as_raw_fd(), Shutdown::Both);
        self.stop_kernels();
        self.shared.clock.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.shared.folder.remove();
    }
}

/// Creates a temporary folder: in memory, which is faster, unless the user named a place or there is none.
fn temporary_folder() -> io::Result<TempDir> {
    let mut folders = tempfile::Builder::new();
    folders.prefix("gem-coherency-");
    if std::env::var_os("TMPDIR").is_none()
        && let Ok(folder) = folders.tempdir_in(MEMORY)
    {
        return Ok(folder);
    }
    folders.tempdir()
}

impl Listener {
    /// Listens at a path; a socket that no server has is replaced.
    ///
    /// # Errors
    /// If a server has it, or what is there is no socket.
    fn at(path: &Path) -> io::Result<Self> {
        let fd = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
        let address = UnixAddr::new(path)?;
        match bind(fd.as_raw_fd(), &address) {
            Err(Errno::EADDRINUSE) if is_served(&address) => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "a server is running here"));
            }
            Err(Errno::EADDRINUSE) if !path.symlink_metadata()?.file_type().is_socket() => {
                let why = "it is no socket of a server: remove it, or name another folder";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            Err(Errno::EADDRINUSE) => {
                std::fs::remove_file(path)?;
                bind(fd.as_raw_fd(), &address)?;
            }
            bound => bound?,
        }
        let socket = Self { socket: fd.into(), path: path.to_path_buf() };
        // Of messages that are sent before their connection is accepted, too.
        ask_for_senders(socket.socket.as_raw_fd()).map_err(io::Error::from_raw_os_error)?;
        listen(&socket.socket, Backlog::MAXCONN)?;
        Ok(socket)
    }
}

/// Returns whether a server accepts connections at an address.
fn is_served(address: &UnixAddr) -> bool {
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None);
    fd.is_ok_and(|fd| connect(fd.as_raw_fd(), address).is_ok())
}

/// Delivers events until the clock is stopped.
fn deliver(shared: &Shared) {
    loop {
        let now = Instant::now();
        let next = [shared.files.deliver(now), deliver_events(now)].into_iter().flatten().min();
        if !shared.clock.wait(next) {
            return;
        }
    }
}

/// Accepts connections until the socket is shut down.
fn accept(shared: &Arc<Shared>, listener: &UnixListener) {
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                let started = Connection::new(Arc::clone(shared), socket.into(), None)
                    .and_then(|connection| connection.start("program"));
                if let Err(error) = started {
                    tracing::error!(%error, "a connection is closed");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
            Err(error) => {
                tracing::error!(%error, "accept");
                // Out of descriptors: some are closed soon.
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
