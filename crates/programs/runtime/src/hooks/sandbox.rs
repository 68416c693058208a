//! prctl(2): filters that the program loads.

use std::ffi::{c_int, c_ulong};

use super::replace;
use crate::real::real;
use crate::start;
use crate::system::{sandbox, sys};

replace! {
    /// Controls the process or the thread.
    fn prctl(option: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong) -> c_int {
        let words = [option as c_ulong, second, third, fourth, fifth, 0].map(|word| word as usize);
        // Other options start nothing: Chromium's allocator names its pages by prctl(2) while it must not be called.
        let server = if option == libc::PR_SET_SECCOMP { start::server() } else { None };
        let loaded = server.and_then(|_| sandbox::load(libc::SYS_prctl, words));
        if let Some(done) = loaded {
            return sys::done(done);
        }
        real!(prctl: fn(
            option => c_int, second => c_ulong, third => c_ulong, fourth => c_ulong, fifth => c_ulong
        ) -> c_int)
    }
}
