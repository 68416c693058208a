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

use gem_coherency::Errno as DeviceErrno;
use gem_coherency_protocol::{ENVIRONMENT, FOLDER, SOCKET, ask_for_senders};
use gem_coherency_sim::{PREFIX, SimDevice, deliver_events};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, Shutdown, SockFlag, SockType, UnixAddr, bind, connect, listen, shutdown, socket,
};
use tempfile::TempDir;

use crate::connection::Connection;
use crate::connections::Connections;
use crate::error::ServeError;
use crate::folder::Folder;
use crate::folder::node::MOST_DEVICES;
use crate::judge::Judge;
use crate::mirror::Mirror;
use crate::program::session::Session;
use crate::sessions::{Sessions, Suite};

/// The folder of files in memory (shm_overview(7)).
const MEMORY: &str = "/dev/shm";

/// The settings of a server.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The folder of the server, which is created if it is missing; without it, a temporary one.
    pub folder: Option<PathBuf>,
    /// The judge of what programs do, if they are judged; it judges no other server.
    pub judge: Option<Arc<dyn Judge>>,
    /// The suite whose tests have a session each, in place of one for all programs.
    pub suite: Option<Arc<dyn Suite>>,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    sessions: Arc<Sessions>,
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
    /// Starts a server of the devices `specs`, each as [`SimDevice::open_for_programs`] takes it, or the path of a real one, which runs the
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
                devices.push(SimDevice::open_for_programs(spec).map_err(failed)?);
            } else {
                let (device, mirror) = Mirror::open(spec)?;
                devices.push(device);
                mirrors.insert(number, mirror);
            }
        }
        let socket = folder.join(SOCKET);
        let listener = Arc::new(Listener::at(&socket).map_err(failed(socket.clone()))?);
        let of_folder =
            |errno: DeviceErrno| failed(folder.clone())(io::Error::from_raw_os_error(errno.get()));
        // Nobody else has the folder now.
        let files = Folder::new(folder.join(FOLDER))?;
        let shared = (Arc::new(Connections::new().map_err(of_folder)?), Arc::default());
        let mut session =
            Session::new(devices, mirrors, settings.judge.clone(), shared).map_err(of_folder)?;
        session.folder = Some(files);
        let specs = specs.iter().map(|spec| spec.as_ref().to_owned()).collect();
        let sessions = Arc::new(Sessions::new(session, specs, settings.suite.clone()));
        let accepting = {
            let (sessions, listener) = (Arc::clone(&sessions), Arc::clone(&listener));
            let thread = std::thread::Builder::new().name("accept".to_owned());
            thread.spawn(move || accept(&sessions, &listener.socket)).map_err(failed(folder.clone()))?
        };
        let delivering = {
            let sessions = Arc::clone(&sessions);
            let thread = std::thread::Builder::new().name("events".to_owned());
            thread.spawn(move || deliver(&sessions)).map_err(failed(folder.clone()))?
        };
        Ok(Self { sessions, folder, _temporary: temporary, listener, threads: vec![accepting, delivering] })
    }

    /// Returns the server's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the environment variable by which a program finds the server.
    pub fn environment(&self) -> (&'static str, &Path) {
        (ENVIRONMENT, &self.folder)
    }

    /// Returns the session of all programs. With a suite it has none: each test has its own.
    pub fn session(&self) -> &Session {
        &self.sessions.common
    }

    /// Waits at most `longest` until no test of the suite has a program, and ends those that have.
    pub fn finish_tests(&self, longest: Duration) {
        self.sessions.finish(longest);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ends accept(2); the connections end with their programs.
        let _ = shutdown(self.listener.socket.as_raw_fd(), Shutdown::Both);
        self.sessions.all().iter().for_each(|session| session.stop_shaders());
        self.session().clock.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(folder) = &self.session().folder {
            folder.remove();
        }
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
fn deliver(sessions: &Sessions) {
    loop {
        let now = Instant::now();
        let of_files = sessions.all().into_iter().filter_map(|session| session.files.deliver(now));
        let next = of_files.chain(deliver_events(now)).min();
        if !sessions.common.clock.wait(next) {
            return;
        }
    }
}

/// Accepts connections until the socket is shut down.
fn accept(sessions: &Arc<Sessions>, listener: &UnixListener) {
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                let started = Connection::new(Arc::clone(sessions), socket.into(), None)
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
