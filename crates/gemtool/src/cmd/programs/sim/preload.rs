//! The library that is loaded into programs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use gem_coherency_server::Server;

use crate::failure::Failure;

/// The library's file.
const FILE: &str = "libgem_coherency_preload.so";

/// The variable with another place of the library.
const VARIABLE: &str = "GEM_COHERENCY_PRELOAD";

/// Finds the library: where the environment says, beside gemtool, or where it is installed.
///
/// # Errors
/// If it is at none of these places, or at a path that LD_PRELOAD cannot name.
pub fn find() -> Result<PathBuf, Failure> {
    let library = match env::var_os(VARIABLE) {
        Some(path) => PathBuf::from(path),
        None => {
            let own = env::current_exe().ok().and_then(|own| own.canonicalize().ok());
            let folder = own.as_deref().and_then(Path::parent).unwrap_or(Path::new("/usr/bin")).to_path_buf();
            let places = [folder.join(FILE), folder.join("../lib/gem-coherency").join(FILE)];
            let missing = format!(
                "{FILE} is not beside gemtool and not in ../lib/gem-coherency: `cargo build` makes both, \
                 crates/gemtool/install puts them in place, and {VARIABLE} names another place"
            );
            places.into_iter().find(|place| place.exists()).ok_or(Failure::Environment(missing))?
        }
    };
    let path = library
        .canonicalize()
        .map_err(|error| Failure::Environment(format!("{VARIABLE}={}: {error}", library.display())))?;
    // ld.so(8): the list is separated by spaces and colons, without a way to quote them.
    if path.to_string_lossy().contains([' ', ':']) {
        let text = format!("{}: LD_PRELOAD cannot name a path with a space or a colon", path.display());
        return Err(Failure::Environment(text));
    }
    Ok(path)
}

/// Sets the environment of a program that is to use the server.
pub fn set(command: &mut Command, library: &Path, server: &Server) {
    let mut preload = OsString::from(library);
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let (name, folder) = server.environment();
    command.env("LD_PRELOAD", preload).env(name, folder);
}

/// Keeps libc's large copies from non-temporal stores, which reach memory without a flush and are not trapped in libc.
pub fn keep_copies_in_cache(command: &mut Command) {
    let mut tunables = env::var_os(TUNABLES).unwrap_or_default();
    if !tunables.is_empty() {
        tunables.push(":");
    }
    tunables.push(NO_NON_TEMPORAL);
    command.env(TUNABLES, tunables);
}

/// The variable of libc's settings (glibc manual, Tunables), and the largest threshold that glibc accepts.
const TUNABLES: &str = "GLIBC_TUNABLES";
const NO_NON_TEMPORAL: &str = "glibc.cpu.x86_non_temporal_threshold=0xfffffffffffffff";
