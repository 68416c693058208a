//! Keeps a server.

use std::path::PathBuf;

use gem_coherency_server::{Server, Settings};
use serde::Serialize;

use super::{ENDING, cannot_wait, preload, raise_file_limit, set_of, tell_kernels, with_hint};
use crate::args;
use crate::failure::Failure;

/// A server that runs.
pub struct Session {
    server: Server,
    preloaded: PathBuf,
    devices: Vec<String>,
}

/// The environment that a program needs to use the server.
#[derive(Clone, Debug, Serialize)]
pub struct Served {
    /// The devices.
    pub devices: Vec<String>,
    /// The environment: names and values.
    pub environment: Vec<(String, String)>,
}

impl Session {
    /// Starts the server.
    ///
    /// # Errors
    /// For devices that do not exist, and a folder that cannot be used.
    pub fn start(args: &args::Serve) -> Result<Self, Failure> {
        let preloaded = preload::find()?;
        raise_file_limit();
        // Before the server's threads exist.
        set_of(ENDING).thread_block().map_err(cannot_wait)?;
        let settings = Settings { folder: args.folder.clone(), ..Settings::default() };
        let server = Server::start(&args.devices.0, &settings);
        let server = server.map_err(|error| Failure::Environment(with_hint(&error)))?;
        tell_kernels(&args.devices.0);
        Ok(Self { server, preloaded, devices: args.devices.0.clone() })
    }

    /// Returns what programs need.
    pub fn served(&self) -> Served {
        let (name, folder) = self.server.environment();
        let environment = [("LD_PRELOAD", self.preloaded.as_path()), (name, folder)];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.display().to_string()));
        Served { devices: self.devices.clone(), environment: environment.to_vec() }
    }

    /// Waits for a signal that ends gemtool.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&self) -> Result<(), Failure> {
        set_of(ENDING).wait().map_err(cannot_wait).map(drop)
    }
}
