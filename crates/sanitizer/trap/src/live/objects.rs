//! Loaded objects, as dl_iterate_phdr(3) lists them.
//!
//! # Safety
//! dl_iterate_phdr holds the loader's lock while it calls back, and dlclose takes that lock before it unmaps. So the
//! memory of an object is mapped during the callback; references to it do not leave the callback.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::slice;

use crate::scan::{Image, Segment};

/// Numbers of objects that were loaded and unloaded since the program's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Generation {
    adds: u64,
    subs: u64,
}

/// An object, during the callback.
pub(super) struct Object<'a> {
    /// Path, as the loader knows it. Empty for the program itself.
    pub name: &'a CStr,
    /// Difference of addresses in memory and in the file.
    pub base: u64,
    /// Readable segments, as they are in memory.
    pub image: Image<'a>,
    /// Numbers at this moment.
    pub generation: Generation,
}

impl Object<'_> {
    /// Returns the lowest and the highest address of its segments.
    pub fn extent(&self) -> Range<usize> {
        let ends = self.image.segments.iter().map(|segment| segment.address + segment.bytes.len() as u64);
        let starts = self.image.segments.iter().map(|segment| segment.address);
        starts.min().unwrap_or(0) as usize..ends.max().unwrap_or(0) as usize
    }

    /// True if one of its segments contains the address.
    pub fn contains(&self, address: usize) -> bool {
        self.image.from(address as u64).is_some()
    }

    /// True for the kernel's object (vdso(7)): its pages are shared by all processes.
    pub fn is_vdso(&self) -> bool {
        // SAFETY: the call reads the auxiliary vector.
        let header = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
        header != 0 && self.contains(header as usize)
    }

    /// True for the libraries of glibc, whose functions a preloaded library replaces.
    pub fn is_of_glibc(&self) -> bool {
        // Before glibc 2.34 some functions were in libraries of their own.
        let others = [&b"libpthread"[..], b"librt", b"libdl", b"libanl", b"libresolv", b"libnss_"];
        self.is_libc() || others.iter().any(|start| self.file().starts_with(start))
    }

    /// True for the C library and the loader.
    pub fn is_libc(&self) -> bool {
        let starts = [&b"libc.so"[..], b"libc-2.", b"ld-linux", b"ld-2.", b"ld.so"];
        starts.iter().any(|start| self.file().starts_with(start))
    }

    /// True for the library of GCC that finds callers. It makes no system calls, but has SYSCALL in a constant.
    pub fn is_libgcc(&self) -> bool {
        self.file().starts_with(b"libgcc_s.so")
    }

    /// Returns the last part of the path.
    fn file(&self) -> &[u8] {
        let name = self.name.to_bytes();
        name.rsplit(|&byte| byte == b'/').next().unwrap_or(name)
    }
}

/// Calls `each` for every loaded object, under the loader's lock, until it returns false.
pub(super) fn each_object(mut each: impl FnMut(&Object<'_>) -> bool) {
    unsafe extern "C" fn callback<F: FnMut(&Object<'_>) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        each: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid structure, and the pointer that was passed to it, for the callback's time.
        let (info, each) = unsafe { (&*info, &mut *each.cast::<F>()) };
        // SAFETY: the structure and its object are valid during the callback.
        let object = unsafe { object(info) };
        c_int::from(!each(&object))
    }
    fn run<F: FnMut(&Object<'_>) -> bool>(each: &mut F) {
        // SAFETY: the callback takes a pointer to `F`, and it is used during the call only.
        unsafe { libc::dl_iterate_phdr(Some(callback::<F>), (&raw mut *each).cast()) };
    }
    run(&mut each);
}

/// Returns the numbers of loads and unloads, without looking at more than one object.
pub(super) fn generation() -> Generation {
    let mut now = Generation::default();
    each_object(|object| {
        now = object.generation;
        false
    });
    now
}

/// Describes an object.
///
/// # Safety
/// The structure is the loader's, and the object is mapped during `'a`.
unsafe fn object(info: &libc::dl_phdr_info) -> Object<'_> {
    let mut image = Image { segments: Vec::new(), eh_frame_hdr: None };
    let count = if info.dlpi_phdr.is_null() { 0 } else { usize::from(info.dlpi_phnum) };
    for index in 0..count {
        // SAFETY: the loader says that so many headers are there.
        let header = unsafe { &*info.dlpi_phdr.add(index) };
        let address = info.dlpi_addr.wrapping_add(header.p_vaddr);
        if header.p_type == libc::PT_GNU_EH_FRAME {
            image.eh_frame_hdr = Some(address);
        }
        // Code without PF_R may be unreadable (protection keys).
        if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0 && header.p_filesz > 0 {
            let first = std::ptr::with_exposed_provenance(address as usize);
            let bytes = if header.p_flags & libc::PF_W == 0 {
                // SAFETY: the loader has mapped the file's bytes of each PT_LOAD there, readable.
                unsafe { slice::from_raw_parts(first, header.p_filesz as usize) }
            } else {
                // They would change under the reference. Neither code nor unwind tables are in writable segments.
                &[]
            };
            let executable = header.p_flags & libc::PF_X != 0;
            image.segments.push(Segment { address, bytes, executable });
        }
    }
    image.segments.retain(|segment| !segment.bytes.is_empty());
    let name = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: the loader keeps the name, which ends in a zero byte, as long as the object.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    let generation = Generation { adds: info.dlpi_adds, subs: info.dlpi_subs };
    Object { name, base: info.dlpi_addr, image, generation }
}
