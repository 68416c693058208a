//! A real process, with the real driver.
//!
//! # Safety
//! Calls go to the kernel with the numbers they were given. The addresses in them are those of the
//! arena, which is memory that nothing else of this program uses, or of mappings of objects, or no
//! memory at all; none is an address that Rust knows of. Bytes are loaded and stored by the kernel,
//! through a pipe, so that a fault is EFAULT and not a signal.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use gem_coherency::Errno;
use gem_coherency_sim::{Minor, Pages};
use gem_coherency_uapi::drm::{DRM_IOCTL_PRIME_HANDLE_TO_FD, drm_prime_handle};
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_CREATE_DUMB, drm_mode_create_dumb};
use nix::libc;
use nix::unistd::pipe;

use super::arena;
use super::target::{Done, Target};

/// This process, and the device under test.
#[derive(Debug)]
pub struct Real {
    primary: PathBuf,
    render: PathBuf,
    foreign: Option<PathBuf>,
    /// A pipe, through which the kernel copies on both sides.
    pipe: (OwnedFd, OwnedFd),
    /// The mappings made by `allocate` and `mmap`, to be unmapped at the end.
    mapped: BTreeMap<u64, u64>,
    opened: Vec<i32>,
}

impl Real {
    /// The process with the device whose primary node is `primary`.
    pub fn new(primary: &Path) -> Result<Self, String> {
        let number: u32 = primary
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix("card")?.parse().ok())
            .ok_or_else(|| format!("{} is not a path like /dev/dri/card0", primary.display()))?;
        let directory = primary.parent().unwrap_or(Path::new("/dev/dri"));
        let render = directory.join(format!("renderD{}", 128 + number));
        let foreign = directory.join(format!("card{}", number + 1));
        Ok(Self {
            primary: primary.to_owned(),
            render,
            foreign: foreign.exists().then_some(foreign),
            pipe: pipe().map_err(|errno| format!("pipe: {errno}"))?,
            mapped: BTreeMap::new(),
            opened: Vec::new(),
        })
    }

    fn open_path(&mut self, path: &Path) -> Done<i32> {
        let path = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| Errno::EINVAL)?;
        // SAFETY: a C string that lives until the call is over.
        let fd = result(unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
        self.opened.push(fd);
        Ok(fd)
    }

    /// A fault leaves an empty buffer in the pipe, and in the end no room.
    fn renew_pipe(&mut self) {
        self.pipe = pipe().unwrap_or_else(|errno| panic!("pipe: {errno}"));
    }

    fn request<T>(fd: i32, code: u32, args: &mut T) -> Done<i32> {
        // SAFETY: `args` is the struct of the request, which has no address in it.
        result(unsafe { libc::ioctl(fd, code.into(), std::ptr::from_mut(args)) })
    }
}

/// Returns the errno of this thread's last system call.
fn last_errno() -> Errno {
    Errno::new(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

/// Returns the result of a system call, whose value is negative if it failed.
fn result<T: PartialOrd + Default>(value: T) -> Done<T> {
    if value < T::default() { Err(last_errno()) } else { Ok(value) }
}

/// `PROT_*`.
fn protection(pages: Pages) -> i32 {
    match pages {
        Pages::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        Pages::ReadOnly => libc::PROT_READ,
        Pages::None => libc::PROT_NONE,
        Pages::Executable => libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
    }
}

/// The most that a pipe takes without a reader.
const PIECE: usize = 4096;

impl Target for Real {
    fn open(&mut self, minor: Minor) -> i32 {
        let path = match minor {
            Minor::Primary => self.primary.clone(),
            Minor::Render => self.render.clone(),
        };
        self.open_path(&path).unwrap_or_else(|errno| panic!("{}: {errno}", path.display()))
    }

    fn foreign(&mut self, len: u64) -> Option<i32> {
        let path = self.foreign.clone()?;
        let device = self.open_path(&path).ok()?;
        let mut dumb =
            drm_mode_create_dumb { width: 1024, height: (len / 4096) as u32, bpp: 32, ..Default::default() };
        Self::request(device, DRM_IOCTL_MODE_CREATE_DUMB.code, &mut dumb).ok()?;
        let mut prime = drm_prime_handle { handle: dumb.handle, flags: libc::O_RDWR as u32, fd: -1 };
        Self::request(device, DRM_IOCTL_PRIME_HANDLE_TO_FD.code, &mut prime).ok()?;
        self.close(device).ok()?;
        self.opened.push(prime.fd);
        Some(prime.fd)
    }

    fn close(&mut self, fd: i32) -> Done<()> {
        self.opened.retain(|&opened| opened != fd);
        // SAFETY: a descriptor that only the calls here know, or none.
        result(unsafe { libc::close(fd) }).map(drop)
    }

    fn ioctl(&mut self, fd: i32, code: u32, argument: u64) -> Done<i32> {
        loop {
            // SAFETY: see the module; the kernel checks every address itself.
            let done = result(unsafe { libc::ioctl(fd, code.into(), argument) });
            if done != Err(Errno::EINTR) {
                return done;
            }
        }
    }

    fn mmap(&mut self, len: u64, pages: Pages, fd: i32, offset: u64) -> Done<u64> {
        let no_address = std::ptr::null_mut();
        // SAFETY: the kernel chooses where there is nothing yet.
        let address = unsafe {
            libc::mmap(no_address, len as usize, protection(pages), libc::MAP_SHARED, fd, offset as i64)
        };
        if address == libc::MAP_FAILED {
            return Err(last_errno());
        }
        self.mapped.insert(address as u64, len);
        Ok(address as u64)
    }

    fn munmap(&mut self, address: u64, len: u64) -> Done<()> {
        self.mapped.remove(&address);
        // SAFETY: what `mmap`, `allocate` or GEM_MMAP mapped; no reference into it exists.
        result(unsafe { libc::munmap(address as *mut _, len as usize) }).map(drop)
    }

    fn size_of(&mut self, fd: i32) -> Done<u64> {
        // SAFETY: numbers only.
        result(unsafe { libc::lseek(fd, 0, libc::SEEK_END) }).map(|size| size as u64)
    }

    fn allocate(&mut self, address: u64, len: u64, pages: Pages) -> Done<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: fails where there is something already.
        let got = unsafe { libc::mmap(address as *mut _, len as usize, protection(pages), flags, -1, 0) };
        if got == libc::MAP_FAILED {
            return Err(last_errno());
        }
        self.mapped.insert(address, len);
        Ok(())
    }

    fn load(&mut self, address: u64, data: &mut [u8]) -> Done<()> {
        if arena::is_writable(address, data.len() as u64) {
            // SAFETY: `arena::make` mapped it, nothing unmaps it, and no reference into it exists.
            unsafe { std::ptr::copy_nonoverlapping(address as *const u8, data.as_mut_ptr(), data.len()) };
            return Ok(());
        }
        let mut at = address;
        for piece in data.chunks_mut(PIECE) {
            // SAFETY: the kernel reads the bytes, and fails where it cannot.
            let written = unsafe { libc::write(self.pipe.1.as_raw_fd(), at as *const _, piece.len()) };
            let written = result(written).inspect_err(|_| self.renew_pipe())? as usize;
            // SAFETY: a live, exclusive slice.
            let read = unsafe { libc::read(self.pipe.0.as_raw_fd(), piece.as_mut_ptr().cast(), written) };
            if result(read)? as usize != piece.len() {
                self.renew_pipe();
                return Err(Errno::EFAULT);
            }
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn store(&mut self, address: u64, data: &[u8]) -> Done<()> {
        if arena::is_writable(address, data.len() as u64) {
            // SAFETY: as in `load`.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), address as *mut u8, data.len()) };
            return Ok(());
        }
        let mut at = address;
        for piece in data.chunks(PIECE) {
            // SAFETY: a live slice.
            let written = unsafe { libc::write(self.pipe.1.as_raw_fd(), piece.as_ptr().cast(), piece.len()) };
            result(written)?;
            // SAFETY: the kernel writes the bytes, and fails where it cannot; see the module.
            let read = result(unsafe { libc::read(self.pipe.0.as_raw_fd(), at as *mut _, piece.len()) });
            if read != Ok(piece.len() as isize) {
                self.renew_pipe();
                return Err(Errno::EFAULT);
            }
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn shrink(&mut self) {
        const SHRINK: &str = "0x27"; // unbound, bound, retire, shrink all
        for card in ["0", "1"] {
            let file = Path::new("/sys/kernel/debug/dri").join(card).join("i915_gem_drop_caches");
            if file.exists() {
                fs::write(&file, SHRINK).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            }
        }
    }

    fn suspend(&mut self) {
        // Every step but the last: the firmware is not asked to cut the power.
        for (file, text) in [
            ("/sys/module/suspend/parameters/pm_test_delay", "0"),
            ("/sys/power/pm_test", "core"),
            ("/sys/power/state", "mem"),
        ] {
            fs::write(file, text).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}

/// Keeps every page of this process in memory: after a resume, files of the host cannot be read.
pub fn stay_in_memory() -> Done<()> {
    // SAFETY: changes nothing but where pages are.
    result(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

impl Drop for Real {
    fn drop(&mut self) {
        for (address, len) in std::mem::take(&mut self.mapped) {
            let _ = self.munmap(address, len);
        }
        for fd in std::mem::take(&mut self.opened) {
            // SAFETY: opened here, and not closed yet.
            unsafe { libc::close(fd) };
        }
    }
}
