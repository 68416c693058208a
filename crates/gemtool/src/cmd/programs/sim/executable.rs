//! The check that a program can be intercepted: the dynamic linker loads the library into it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};

use crate::failure::Failure;

/// Most scripts that start each other (`BINPRM_BUF_SIZE` and the kernel's limit of 5).
const MOST_SCRIPTS: usize = 5;

/// Longest first line of a script.
const LINE_BYTES: u64 = 256;

/// Finds a program as execvp(3) does, and checks that it can be intercepted.
///
/// # Errors
/// For a program that does not exist, is linked statically, is not for x86-64, or has privileges of its own.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    let missing = || Failure::Environment(format!("cannot run '{shown}': no such program"));
    let program = if name.as_bytes().contains(&b'/') {
        Some(PathBuf::from(name)).filter(|path| path.exists())
    } else {
        let path = env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
        env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_program(path))
    };
    let program = program.ok_or_else(missing)?;
    let cannot = |why: &str| Failure::Environment(format!("cannot intercept '{shown}': {why}"));
    let mut path = program.clone();
    for _ in 0..MOST_SCRIPTS {
        let failed =
            |error: io::Error| Failure::Environment(format!("cannot run '{}': {error}", path.display()));
        match interpreter(&path).map_err(failed)? {
            Some(next) => path = next,
            None => return check(&path).map_err(|why| cannot(&why)).map(|()| program),
        }
    }
    Err(cannot("its scripts start each other"))
}

/// Returns whether a path is a file that somebody may execute.
fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
}

/// Returns the interpreter of a script; `None` for another program.
fn interpreter(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut line = Vec::new();
    File::open(path)?.take(LINE_BYTES).read_to_end(&mut line)?;
    let Some(rest) = line.strip_prefix(b"#!") else { return Ok(None) };
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    Ok(words.next().map(|word| PathBuf::from(OsStr::from_bytes(word))))
}

/// Checks that the dynamic linker loads a 64-bit library into the program.
fn check(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    let gains_privileges = metadata.mode() & 0o6000 != 0 && metadata.uid() != nix::unistd::geteuid().as_raw();
    if gains_privileges {
        return Err(
            "it has privileges of its own (set-user-id), with which LD_PRELOAD does nothing".to_owned()
        );
    }
    let data = ReadCache::new(file);
    let Ok(header) = elf::FileHeader64::<Endianness>::parse(&data) else {
        return Err("it is no 64-bit program".to_owned());
    };
    let endian = header.endian().map_err(|error| error.to_string())?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err("it is not for x86-64".to_owned());
    }
    let segments = header.program_headers(endian, &data).map_err(|error| error.to_string())?;
    let has_linker = segments.iter().any(|segment| segment.p_type(endian) == elf::PT_INTERP);
    if has_linker {
        Ok(())
    } else {
        Err("it is linked statically, so that no library can be loaded".to_owned())
    }
}
