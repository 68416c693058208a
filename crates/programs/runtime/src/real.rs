//! libc's own functions, for those that this library replaces and that are no system calls.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the next library that has it.
pub(crate) struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns its address.
    pub(crate) fn address(&self) -> *mut c_void {
        // Relaxed: the address is the same, whoever looks it up.
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name is a C string.
        let found = unsafe { find()(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            crate::system::sys::give_up(&[b"libc has no function ", self.name.to_bytes()]);
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// dlsym(3).
type Find = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Returns libc's dlsym, which this library replaces.
pub(crate) fn find() -> Find {
    static FIND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut found = FIND.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the names are C strings.
        found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), c"GLIBC_2.2.5".as_ptr()) };
        if found.is_null() {
            crate::system::sys::give_up(&[b"libc has no function dlsym"]);
        }
        FIND.store(found, Ordering::Relaxed);
    }
    // SAFETY: it is that function.
    unsafe { std::mem::transmute::<*mut c_void, Find>(found) }
}

/// Calls libc's function of a name and type, which is unsafe.
macro_rules! real {
    ($name:ident: fn($($argument:expr => $type:ty),*) -> $result:ty) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name with a zero"),
            },
        );
        let function: unsafe extern "C" fn($($type),*) -> $result =
            std::mem::transmute($crate::real::Real::address(&REAL));
        function($($argument),*)
    }};
}
pub(crate) use real;
