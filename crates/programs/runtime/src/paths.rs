//! The paths that stand for others, and the nodes among them.

use std::ffi::{c_char, c_int};

use gem_coherency_protocol::{Request, call};

use crate::server::connection::Server;
use crate::server::requests;
use crate::start;
use crate::system::path::{PATH_BYTES, Path};
use crate::system::sys;

/// The folders that the server has another of.
const FOLDERS: [&[u8]; 7] = [
    b"/dev/dri",
    b"/sys/class/drm",
    b"/sys/bus/pci",
    b"/sys/devices/pci0000:00",
    b"/sys/kernel/debug/dri",
    b"/sys/module/i915",
    b"/sys/module/xe",
];

/// The beginning of the links to devices of DRM.
const NUMBERED: &[u8] = b"/sys/dev/char/226:";

/// The first minor number of render nodes, and of nodes at all that there are not.
const FIRST_RENDER: u32 = 128;
const END: u32 = 192;

/// Returns whether the server has something of its own at a path.
fn is_ours(path: &[u8]) -> bool {
    let below = |folder: &&[u8]| {
        path.strip_prefix(*folder).is_some_and(|rest| rest.first().is_none_or(|&next| next == b'/'))
    };
    path.starts_with(NUMBERED) || FOLDERS.iter().any(below)
}

/// Texts of which one is in each path to what is the server's, when the path does not begin with it; or [`XE`] is a name in it.
const TEXTS: [&[u8]; 5] = [b"dri", b"drm", b"226:", b"pci", b"i915"];

/// The name of xe's module, which is a part of too many words to look for it as such.
const XE: &[u8] = b"xe";

/// Returns whether a path may lead to what is the server's, although it does not begin with it.
fn may_be_ours(path: &[u8]) -> bool {
    let has = |name: &[u8]| path.windows(name.len()).any(|part| part == name);
    let is_named = TEXTS.into_iter().any(has) || path.split(|&byte| byte == b'/').any(|name| name == XE);
    is_named && (!path.starts_with(b"/") || has(b"//") || has(b"/."))
}

/// Follows a path by its names until it is the server's; returns whether that happens, and the server's path.
///
/// Links on the way there count as folders: the links of /dev and /sys lead to nothing of the server's.
fn reaches(server: &Server, folder: c_int, text: &[u8], found: &mut Path) -> bool {
    let mut way = Path::EMPTY;
    let is_relative = !text.starts_with(b"/");
    // Below the server's folder, the kernel finds its way.
    if is_relative && (!folder_of(folder, &mut way) || way.as_bytes().starts_with(server.root.as_bytes())) {
        return false;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
        let (name, next) = rest.split_at(end);
        rest = next.strip_prefix(b"/").unwrap_or(next);
        match name {
            b"" | b"." => continue,
            b".." => way.pop(),
            _ => {
                if !(way.push(b"/") && way.push(name)) {
                    return false;
                }
            }
        }
        if is_ours(way.as_bytes()) {
            return found.push(server.root.as_bytes())
                && found.push(way.as_bytes())
                && (next.is_empty() || found.push(b"/"))
                && found.push(rest);
        }
    }
    false
}

/// Stores the path of a folder by its descriptor, `/` as nothing; returns whether there is one.
fn folder_of(folder: c_int, path: &mut Path) -> bool {
    let mut link = Path::EMPTY;
    let fits = match u32::try_from(folder) {
        Ok(fd) => link.push(b"/proc/self/fd/") && link.push(decimal(fd, &mut [0; 10])),
        Err(_) => folder == libc::AT_FDCWD && link.push(b"/proc/self/cwd"),
    };
    if !fits {
        return false;
    }
    let mut text = [0; PATH_BYTES];
    // SAFETY: the path ends with a zero, and `text` has these bytes.
    let len = unsafe {
        let (link, size) = (link.as_ptr(), text.len());
        call!(libc::SYS_readlinkat, libc::AT_FDCWD, link, text.as_mut_ptr(), size)
    };
    let Ok(len) = len else { return false };
    let text = text.get(..len).unwrap_or_default();
    text.starts_with(b"/") && path.push(if text == b"/" { b"" } else { text })
}

/// Returns the path of a descriptor as the program has it, if it is one of the server's folder.
pub(crate) fn outside_of(fd: c_int) -> Option<Path> {
    let root = start::server()?.root.as_bytes();
    let (mut path, mut outside) = (Path::EMPTY, Path::EMPTY);
    let is_known = folder_of(fd, &mut path);
    let rest = path.as_bytes().strip_prefix(root).filter(|_| is_known)?;
    outside.push(rest).then_some(outside)
}

/// A path as the program's kernel has it.
pub(crate) struct Redirected {
    path: Path,
    given: *const c_char,
    is_ours: bool,
}

impl Redirected {
    /// Finds the path that stands for `given`, if there is one.
    ///
    /// # Safety
    /// `given` is null or a C string that lives longer.
    pub(crate) unsafe fn new(given: *const c_char) -> Self {
        // SAFETY: the caller's obligation.
        unsafe { Self::below(libc::AT_FDCWD, given) }
    }

    /// Finds the path that stands for `given`, relative to a folder, if there is one.
    ///
    /// # Safety
    /// As [`Self::new`].
    pub(crate) unsafe fn below(folder: c_int, given: *const c_char) -> Self {
        let mut path = Path::EMPTY;
        // SAFETY: the caller's obligation.
        let text = unsafe { sys::bytes(given) };
        let is_whole = is_ours(text);
        // Other paths start nothing: an allocator opens some, and must not be called meanwhile (Chromium's).
        let server = if is_whole || may_be_ours(text) { start::server() } else { None };
        let is_ours = server.is_some_and(|server| {
            let found = if is_whole {
                path.push(server.root.as_bytes()) && path.push(text)
            } else {
                reaches(server, folder, text, &mut path)
            };
            if found {
                server.make_root();
            }
            found
        });
        Self { path, given, is_ours }
    }

    /// Returns whether another path stands for the given one.
    pub(crate) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Returns the path as the program has it, if another one stands for it.
    pub(crate) fn outside(&self) -> Option<&[u8]> {
        let root = start::server()?.root.as_bytes();
        self.path.as_bytes().strip_prefix(root).filter(|_| self.is_ours)
    }

    /// Returns the path to use.
    pub(crate) fn as_ptr(&self) -> *const c_char {
        if self.is_ours { self.path.as_ptr() } else { self.given }
    }
}

/// Returns the minor number of a node, by its place in the server's folder.
pub(crate) fn minor(server: &Server, stat: &libc::stat) -> Option<u32> {
    if stat.st_mode & libc::S_IFMT != libc::S_IFSOCK {
        return None;
    }
    (0..FIRST_RENDER / 2).chain(FIRST_RENDER..END).find(|&minor| {
        node(server, minor).is_some_and(|node| (node.st_dev, node.st_ino) == (stat.st_dev, stat.st_ino))
    })
}

/// Describes the node with a minor number, in the server's folder.
pub(crate) fn node(server: &Server, minor: u32) -> Option<libc::stat> {
    let mut path = server.root;
    let kind: &[u8] = if minor < FIRST_RENDER { b"/dev/dri/card" } else { b"/dev/dri/renderD" };
    let fits = path.push(kind) && path.push(decimal(minor, &mut [0; 10]));
    sys::stat(libc::AT_FDCWD, path.as_ptr(), libc::AT_SYMLINK_NOFOLLOW).ok().filter(|_| fits)
}

/// Writes a number in decimal.
pub(crate) fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// Returns the descriptor that a path in /proc names.
pub(crate) fn descriptor(path: &[u8]) -> Option<c_int> {
    number(path.strip_prefix(b"/dev/fd/").or_else(|| of_own_process(path)?.strip_prefix(b"/fd/"))?)
}

/// Returns the descriptor that a path in /proc describes, relative to a folder.
pub(crate) fn described(folder: c_int, path: &[u8]) -> Option<c_int> {
    if path.starts_with(b"/") {
        return number(of_own_process(path)?.strip_prefix(b"/fdinfo/")?);
    }
    let described = number(path).filter(|_| folder >= 0)?;
    let mut of_folder = Path::EMPTY;
    let is_known = folder_of(folder, &mut of_folder);
    of_own_process(of_folder.as_bytes())
        .is_some_and(|rest| is_known && rest == b"/fdinfo")
        .then_some(described)
}

/// Returns the part of a path in /proc that follows the folder of this process.
fn of_own_process(path: &[u8]) -> Option<&[u8]> {
    let rest = path.strip_prefix(b"/proc/")?;
    let slash = rest.iter().position(|&byte| byte == b'/')?;
    let (process, rest) = rest.split_at_checked(slash)?;
    let own = u32::try_from(sys::getpid()).ok()?;
    let is_own = [b"self".as_slice(), b"thread-self", decimal(own, &mut [0; 10])].contains(&process);
    is_own.then_some(rest)
}

fn number(digits: &[u8]) -> Option<c_int> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the cookie of the file that a path in /proc names by its descriptor.
pub(crate) fn of_descriptor(path: &[u8]) -> Option<u64> {
    sys::cookie(descriptor(path)?).ok()
}

/// A file of a device, as programs see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    /// A device, by its minor number.
    Device(u32),
    /// A dma-buf of this many bytes.
    DmaBuf(u64),
    /// A fence or a syncobj.
    Other,
}

/// Describes the file with a cookie; `None` for a socket of the program's own.
pub(crate) fn describe(server: &Server, cookie: u64) -> Option<File> {
    let (reply, _) = requests::make(server, &Request::Describe.with([cookie])).ok()?;
    let [kind, value, ..] = reply.operands;
    Some(match kind {
        1 => File::Device(value as u32),
        2 => File::DmaBuf(value),
        _ => File::Other,
    })
}

/// Opens a node, or a device's file again; returns the descriptor.
///
/// # Errors
/// Those of the request.
pub(crate) fn open(
    server: &Server,
    request: &gem_coherency_protocol::Message,
    flags: c_int,
) -> Result<c_int, c_int> {
    let fd = requests::make(server, request)?.0.operands[0] as c_int;
    if flags & libc::O_NONBLOCK != 0 {
        let _ = sys::fcntl(fd, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK);
    }
    Ok(fd)
}
