//! libpmem, loaded at run time: nothing is linked against it.
//!
//! # Safety
//! The library stays loaded as long as the process runs, so its functions' addresses stay valid; their types
//! are those of libpmem(7).

use std::ffi::{CStr, c_void};

/// The library's soname.
const LIBRARY: &CStr = c"libpmem.so.1";

type Range = unsafe extern "C" fn(*const c_void, usize);
type Fence = unsafe extern "C" fn();
type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

/// The functions of libpmem.
#[derive(Clone, Copy, Debug)]
pub struct Pmem {
    persist: Range,
    flush: Range,
    drain: Fence,
    memcpy_persist: Copy,
}

impl Pmem {
    /// Loads libpmem.
    ///
    /// # Errors
    /// A message with the reason why it cannot be used.
    pub fn load() -> Result<Self, String> {
        // SAFETY: a C string; the library's constructors read CPUID and the environment, and do nothing else.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err("libpmem.so.1 cannot be loaded (Debian: libpmem1)".to_owned());
        }
        let find = |name: &CStr| {
            // SAFETY: a library that was loaded and is never closed, and a C string.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            if found.is_null() {
                Err(format!("libpmem.so.1 has no {}", name.to_string_lossy()))
            } else {
                Ok(found)
            }
        };
        // SAFETY: of each pointer: it is not null, and libpmem(7) declares the function with this type.
        unsafe {
            Ok(Self {
                persist: std::mem::transmute::<*mut c_void, Range>(find(c"pmem_persist")?),
                flush: std::mem::transmute::<*mut c_void, Range>(find(c"pmem_flush")?),
                drain: std::mem::transmute::<*mut c_void, Fence>(find(c"pmem_drain")?),
                memcpy_persist: std::mem::transmute::<*mut c_void, Copy>(find(c"pmem_memcpy_persist")?),
            })
        }
    }

    /// `pmem_persist`: writes the lines of a range back, and waits for completion.
    ///
    /// # Safety
    /// The bytes are mapped.
    pub unsafe fn persist(&self, first: *const u8, len: usize) {
        // SAFETY: the bytes are mapped: the caller's obligation.
        unsafe { (self.persist)(first.cast(), len) }
    }

    /// `pmem_flush` of every range, each an address and a length, then `pmem_drain`.
    ///
    /// # Safety
    /// The bytes are mapped.
    pub unsafe fn flush_and_drain(&self, ranges: &[(*const u8, usize)]) {
        // SAFETY: the bytes are mapped: the caller's obligation.
        unsafe {
            ranges.iter().for_each(|&(first, len)| (self.flush)(first.cast(), len));
            (self.drain)();
        }
    }

    /// `pmem_memcpy_persist`: copies to memory, and waits for completion.
    ///
    /// # Safety
    /// `to` is mapped for writing, `from.len()` bytes long, and elsewhere.
    pub unsafe fn memcpy_persist(&self, to: *mut u8, from: &[u8]) {
        // SAFETY: source and destination: the caller's obligation.
        unsafe { (self.memcpy_persist)(to.cast(), from.as_ptr().cast(), from.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libpmem_copies_all_bytes() {
        let pmem = match Pmem::load() {
            Ok(pmem) => pmem,
            Err(why) => {
                println!("{why}: 1 test skipped");
                return;
            }
        };
        let from: Vec<u8> = (0..=255).collect();
        let mut to = vec![0; 256];
        // SAFETY: both vectors are 256 bytes long.
        unsafe {
            pmem.memcpy_persist(to.as_mut_ptr(), &from);
            pmem.persist(to.as_ptr(), 256);
            pmem.flush_and_drain(&[(to.as_ptr(), 256)]);
        }
        assert_eq!(to, from);
    }
}
