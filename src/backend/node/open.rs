//! Opens a device of i915 or xe from a path, or reports what is wrong with the path.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gem_coherency_policy::Errno;
use nix::sys::utsname::uname;

use super::card::Card;
use super::{Node, XeNode, facts};
use crate::backend::Drm;
use crate::error::{Error, OpenError, Result};
use crate::vocabulary::KernelVersion;

/// The directory of DRM nodes.
const DIRECTORY: &str = "/dev/dri";

/// The major number of DRM devices (`DRM_MAJOR` of `<drm/drm.h>`'s kernel side).
const DRM_MAJOR: u64 = 226;

/// Returns the major number of a device; not every C library has a function for it.
///
/// Source: glibc's `gnu_dev_major`.
const fn major(device: u64) -> u64 {
    (device >> 32 & !0xfff) | (device >> 8 & 0xfff)
}

/// The names of the drivers in VERSION.
const I915: &str = "i915";
const XE: &str = "xe";

/// The nodes found in a directory.
#[derive(Debug)]
pub struct Found {
    /// The directory.
    pub directory: PathBuf,
    /// The nodes of i915, then those of xe: of each, render nodes first, then primary nodes, by number.
    pub nodes: Vec<PathBuf>,
    /// The other nodes, or the directory itself, each with the error.
    pub others: Vec<(PathBuf, Error)>,
}

impl Found {
    /// Returns the first node.
    ///
    /// # Errors
    /// [`OpenError::NoDevice`], listing what was found instead.
    pub fn first(&self) -> Result<&Path> {
        self.nodes.first().map(PathBuf::as_path).ok_or_else(|| {
            OpenError::NoDevice { directory: self.directory.clone(), found: self.instead() }.into()
        })
    }

    /// Describes what was found besides such nodes.
    fn instead(&self) -> String {
        if self.others.is_empty() {
            return "it has no renderD* or card* node".to_owned();
        }
        self.others.iter().map(|(_, error)| error.to_string()).collect::<Vec<_>>().join("; ")
    }
}

/// Searches `/dev/dri` for nodes of i915 and xe.
pub fn find() -> Found {
    find_in(Path::new(DIRECTORY))
}

/// Searches `directory` for nodes of i915 and xe.
///
/// Every node is opened briefly to query its driver. If a primary node has no DRM master, this process is its
/// master for that moment.
pub fn find_in(directory: &Path) -> Found {
    let mut found = Found { directory: directory.to_owned(), nodes: Vec::new(), others: Vec::new() };
    let mut of_xe = Vec::new();
    let names = match names(directory) {
        Ok(names) => names,
        Err(error) => {
            found.others.push((directory.to_owned(), open_error(directory, &error)));
            return found;
        }
    };
    for name in names {
        let path = directory.join(name);
        match open(&path) {
            Ok(node) if node.xe().is_some() => of_xe.push(path),
            Ok(_) => found.nodes.push(path),
            Err(error) => found.others.push((path, error)),
        }
    }
    found.nodes.append(&mut of_xe);
    found
}

/// Lists the nodes in `directory`: `renderD*` by number, then `card*` by number.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut nodes = Vec::new();
    for entry in fs::read_dir(directory)? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        let number = |prefix| name.strip_prefix(prefix).and_then(|digits: &str| digits.parse::<u32>().ok());
        let key = number("renderD").map(|n| (0, n)).or(number("card").map(|n| (1, n)));
        nodes.extend(key.map(|key| (key, name)));
    }
    nodes.sort_unstable();
    Ok(nodes.into_iter().map(|(_, name)| name).collect())
}

impl Node {
    /// Opens the device file at `path` for reading and writing.
    ///
    /// # Errors
    /// - [`Error::Open`]: the path does not exist (ENOENT) or may not be opened (EACCES, EPERM);
    /// - [`OpenError::NotADevice`]: a file, a directory, or anything else that is not a character device;
    /// - [`OpenError::NotDrm`]: a character device of another kind, which is not opened;
    /// - [`OpenError::NotI915`]: a DRM device of another driver;
    /// - [`crate::Unknown::KernelVersion`]: the kernel's release cannot be parsed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_file(open_file(path)?, path)
    }

    /// Opens a duplicate of an open device file; an object has the same handle on both.
    ///
    /// The node's name is the file's path: `/dev/dri/renderD128`.
    ///
    /// # Errors
    /// As [`Node::open`]; EBADF for a descriptor that is not open.
    pub fn from_fd(fd: impl AsFd) -> Result<Self> {
        let (file, path) = duplicate(fd.as_fd())?;
        Self::of_file(file, &path)
    }

    /// Creates the node of `file` if it is an i915 device.
    fn of_file(file: File, path: &Path) -> Result<Self> {
        let driver = driver(&file, path)?;
        if driver != I915 {
            return Err(OpenError::NotI915 { path: path.to_owned(), driver }.into());
        }
        let card = Card::new(file, path, kernel()?);
        tracing::debug!(name = card.name, kernel = %card.kernel, "open");
        Ok(Self {
            card,
            handles: Default::default(),
            batch: Default::default(),
            close_errors: Default::default(),
        })
    }
}

/// Opens the device file at `path`, of i915 or xe.
///
/// # Errors
/// As [`Node::open`]; [`crate::Unknown`] for a device of xe without rules, and its DEVICE_QUERY's.
pub fn open(path: impl AsRef<Path>) -> Result<Arc<dyn Drm>> {
    let path = path.as_ref();
    of_file(open_file(path)?, path)
}

/// Opens a duplicate of an open device file of i915 or xe, as [`Node::from_fd`] does.
///
/// # Errors
/// As [`open`]; EBADF for a descriptor that is not open.
pub fn open_fd(fd: impl AsFd) -> Result<Arc<dyn Drm>> {
    let (file, path) = duplicate(fd.as_fd())?;
    of_file(file, &path)
}

/// Creates the node of `file` by its driver.
fn of_file(file: File, path: &Path) -> Result<Arc<dyn Drm>> {
    match driver(&file, path)?.as_str() {
        XE => Ok(Arc::new(XeNode::of_card(Card::new(file, path, kernel()?))?)),
        _ => Ok(Arc::new(Node::of_file(file, path)?)),
    }
}

/// Opens a DRM device for reading and writing.
fn open_file(path: &Path) -> Result<File> {
    let is_at = |error: io::Error| open_error(path, &error);
    // Opening some devices has effects (it starts a watchdog), so only DRM devices are opened.
    check_device(path, &fs::metadata(path).map_err(is_at)?)?;
    // The standard library adds O_CLOEXEC.
    OpenOptions::new().read(true).write(true).open(path).map_err(is_at)
}

/// Duplicates the descriptor of a DRM device; returns its path, too.
fn duplicate(fd: BorrowedFd<'_>) -> Result<(File, PathBuf)> {
    let link = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let path = fs::read_link(&link).unwrap_or(link);
    let is_at = |error: io::Error| open_error(&path, &error);
    let file = File::from(fd.try_clone_to_owned().map_err(is_at)?);
    check_device(&path, &file.metadata().map_err(is_at)?)?;
    Ok((file, path))
}

/// Returns the name of the device's driver.
fn driver(file: &File, path: &Path) -> Result<String> {
    match facts::version(file.as_fd()) {
        Ok(version) => Ok(version.name),
        Err(error) => Err(OpenError::NotDrm { path: path.to_owned(), errno: error.errno() }.into()),
    }
}

/// Checks that `path` is a DRM device.
fn check_device(path: &Path, metadata: &Metadata) -> Result<()> {
    if !metadata.file_type().is_char_device() {
        return Err(OpenError::NotADevice { path: path.to_owned() }.into());
    }
    if major(metadata.rdev()) != DRM_MAJOR {
        return Err(OpenError::NotDrm { path: path.to_owned(), errno: Errno::ENOTTY }.into());
    }
    Ok(())
}

/// Returns the version of the running kernel.
fn kernel() -> Result<KernelVersion> {
    let refused = |errno| Error::Ioctl { request: "uname", errno: Errno::new(errno as i32) };
    Ok(uname().map_err(refused)?.release().to_string_lossy().parse()?)
}

/// Converts a file system error for `path`.
fn open_error(path: &Path, error: &io::Error) -> Error {
    // Without an errno the error is the standard library's, for a path that contains a 0 byte.
    let errno = error.raw_os_error().map_or(Errno::EINVAL, Errno::new);
    OpenError::CannotOpen { path: path.to_owned(), errno }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A new directory, removed when dropped.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("gem-coherency-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[track_caller]
    fn case(path: impl AsRef<Path>, expected: impl Fn(&Error) -> bool) {
        let error = Node::open(path.as_ref()).unwrap_err();
        assert!(expected(&error), "{error:?}");
        assert!(error.to_string().contains(&*path.as_ref().to_string_lossy()), "{error}");
    }

    #[test]
    fn a_path_that_is_no_drm_device_is_told_apart() {
        let directory = Directory::new("open");
        let file = directory.0.join("file");
        fs::write(&file, "x").unwrap();
        let link = directory.0.join("link");
        symlink("/dev/null", &link).unwrap();
        let dangling = directory.0.join("dangling");
        symlink("nowhere", &dangling).unwrap();

        case(directory.0.join("missing"), |e| {
            matches!(e, Error::Open(OpenError::CannotOpen { errno: Errno::ENOENT, .. }))
        });
        case(file.join("below"), |e| {
            matches!(e, Error::Open(OpenError::CannotOpen { errno: Errno::ENOTDIR, .. }))
        });
        case(&dangling, |e| matches!(e, Error::Open(OpenError::CannotOpen { errno: Errno::ENOENT, .. })));
        case("", |e| matches!(e, Error::Open(OpenError::CannotOpen { errno: Errno::ENOENT, .. })));
        case("a\0b", |e| matches!(e, Error::Open(OpenError::CannotOpen { errno: Errno::EINVAL, .. })));
        case(&directory.0, |e| matches!(e, Error::Open(OpenError::NotADevice { .. })));
        case(&file, |e| matches!(e, Error::Open(OpenError::NotADevice { .. })));
        case("/dev/null", |e| matches!(e, Error::Open(OpenError::NotDrm { errno: Errno::ENOTTY, .. })));
        case(&link, |e| matches!(e, Error::Open(OpenError::NotDrm { .. })));
    }

    #[test]
    fn an_open_file_that_is_no_drm_device_is_told_apart() {
        let error = Node::from_fd(File::open("/dev/null").unwrap()).unwrap_err();
        assert!(
            matches!(&error, Error::Open(OpenError::NotDrm { path, .. }) if path == Path::new("/dev/null")),
            "{error:?}"
        );
        let error = Node::from_fd(File::open("/proc/self/status").unwrap()).unwrap_err();
        assert!(matches!(error, Error::Open(OpenError::NotADevice { .. })), "{error:?}");
    }

    #[test]
    fn nodes_are_looked_at_render_first_and_by_number() {
        let directory = Directory::new("order");
        for name in ["card10", "card2", "renderD129", "renderD128", "by-path", "controlD64", "card", "cardx"]
        {
            symlink("/dev/null", directory.0.join(name)).unwrap();
        }
        assert_eq!(names(&directory.0).unwrap(), ["renderD128", "renderD129", "card2", "card10"]);
    }

    #[test]
    fn no_device_says_what_was_there_instead() {
        let directory = Directory::new("instead");
        let empty = find_in(&directory.0).first().unwrap_err();
        assert!(empty.to_string().contains("no renderD*"), "{empty}");

        symlink("/dev/null", directory.0.join("renderD128")).unwrap();
        fs::create_dir(directory.0.join("card0")).unwrap();
        let text = find_in(&directory.0).first().unwrap_err().to_string();
        assert!(
            text.contains("renderD128 is not a DRM device") && text.contains("software device"),
            "{text}"
        );
        assert!(text.contains("card0 is not a character device"), "{text}");

        let missing = find_in(&directory.0.join("missing")).first().unwrap_err();
        assert!(missing.to_string().contains("ENOENT"), "{missing}");
        assert_eq!(missing.errno(), Errno::ENODEV);
    }
}
