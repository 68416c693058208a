//! The folder of files that programs look at, which is made when the first of them does.

pub(crate) mod debug_files;
pub(crate) mod fdinfo;
pub(crate) mod node;
pub(crate) mod tree;
mod xe;

use std::fs::{remove_dir_all, rename};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;
use gem_coherency_sim::SimDevice;

use crate::error::ServeError;
use debug_files::DebugFiles;

/// The extension of a folder in the making.
const PARTIAL: &str = "new";

/// A server's folder of files.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    state: Mutex<State>,
}

/// The life of a folder.
#[derive(Debug)]
enum State {
    /// No program has looked at it.
    Missing,
    /// It is there, with files that change.
    Made(DebugFiles),
    /// The server has ended.
    Removed,
}

impl Folder {
    /// Creates the folder at `root` later. What a server that was killed left there is removed.
    ///
    /// # Errors
    /// If something else is there.
    pub(crate) fn new(root: PathBuf) -> Result<Self, ServeError> {
        clear(&root.with_extension(PARTIAL))?;
        clear(&root)?;
        Ok(Self { root, state: Mutex::new(State::Missing) })
    }

    /// Makes the folder for these devices, unless it is there.
    ///
    /// # Errors
    /// EIO if a file cannot be created; ENODEV if the server has ended.
    pub(crate) fn make(&self, devices: &[SimDevice]) -> Result<(), Errno> {
        let mut state = self.state();
        match *state {
            State::Missing => {
                let files = make_at(&self.root, devices).map_err(|error| {
                    tracing::error!(%error, "the folder of devices");
                    Errno::EIO
                })?;
                *state = State::Made(files);
                Ok(())
            }
            State::Made(_) => Ok(()),
            State::Removed => Err(Errno::ENODEV),
        }
    }

    /// Writes what has changed in the files since the last time.
    pub(crate) fn update(&self, devices: &[SimDevice]) {
        if let State::Made(files) = &mut *self.state() {
            files.update(devices);
        }
    }

    /// Removes the folder for good.
    pub(crate) fn remove(&self) {
        if let State::Made(_) = std::mem::replace(&mut *self.state(), State::Removed) {
            let _ = remove_dir_all(&self.root);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Removes a folder that a server made.
///
/// # Errors
/// If what is there is none.
fn clear(path: &Path) -> Result<(), ServeError> {
    let failed = |error| ServeError::File { path: path.to_path_buf(), error };
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(found) if found.is_dir() && path.join(tree::MARK).is_file() => {
            remove_dir_all(path).map_err(failed)
        }
        Ok(_) => {
            let why = "no server made it: remove it, or name another folder";
            Err(failed(io::Error::new(ErrorKind::AlreadyExists, why)))
        }
    }
}

/// Makes the folder `root`. It gets its name when it is complete, because a program that sees it does not ask for it.
fn make_at(root: &Path, devices: &[SimDevice]) -> Result<DebugFiles, ServeError> {
    let partial = root.with_extension(PARTIAL);
    let made = tree::make(&partial, devices).and_then(|()| {
        let files = DebugFiles::new(&partial, devices)?;
        rename(&partial, root).map_err(|error| ServeError::File { path: root.to_path_buf(), error })?;
        Ok(files)
    });
    if made.is_err() {
        let _ = remove_dir_all(&partial);
    }
    made
}
