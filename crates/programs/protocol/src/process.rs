//! The processes that talk.
//!
//! # Safety
//!
//! System calls get numbers only.

#![allow(unsafe_code)]

use crate::call;

/// Compares two processes' memory (`KCMP_VM` in linux/kcmp.h).
const MEMORY: u32 = 1;

/// Returns whether two processes share their memory, as a child of vfork(2) does with its parent; false if the caller may not know.
pub fn share_memory(one: i32, other: i32) -> bool {
    // SAFETY: no operand is an address.
    one == other || unsafe { call!(libc::SYS_kcmp, one, other, MEMORY, 0, 0) } == Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_shares_its_memory_with_its_threads_alone() {
        let own = std::process::id() as i32;
        assert!(share_memory(own, own));
        let of_thread = move || {
            // SAFETY: no operands.
            let thread = unsafe { call!(libc::SYS_gettid) }.unwrap();
            thread as i32 != own && share_memory(own, thread as i32)
        };
        assert!(std::thread::spawn(of_thread).join().unwrap());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let shared = share_memory(own, child.id() as i32);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!shared && !share_memory(own, -1));
    }
}
