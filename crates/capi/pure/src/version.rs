//! The version of the interface.

use core::ffi::c_uint;

/// The header's version, major.minor.patch: the major number. Until 1.0 a minor version may change the interface, and
/// changes the soname with it.
pub const GEMCO_VERSION_MAJOR: c_uint = 0;

/// The minor number.
pub const GEMCO_VERSION_MINOR: c_uint = 1;

/// The patch number.
pub const GEMCO_VERSION_PATCH: c_uint = 0;

macro_rules! is_the_packages {
    ($($name:literal => $number:ident,)+) => {
        $(const _: () = assert!(matches!(c_uint::from_str_radix(env!($name), 10), Ok($number)));)+
    };
}

is_the_packages! {
    "CARGO_PKG_VERSION_MAJOR" => GEMCO_VERSION_MAJOR,
    "CARGO_PKG_VERSION_MINOR" => GEMCO_VERSION_MINOR,
    "CARGO_PKG_VERSION_PATCH" => GEMCO_VERSION_PATCH,
}

/// Returns the version of the library that runs: major << 16 | minor << 8 | patch. Compare it with GEMCO_VERSION_MAJOR,
/// _MINOR and _PATCH, which are those of the header that was compiled.
///
/// Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_version() -> c_uint {
    GEMCO_VERSION_MAJOR << 16 | GEMCO_VERSION_MINOR << 8 | GEMCO_VERSION_PATCH
}
