//! System calls by syscall(2) that let the kernel access memory: as the functions of libc that replace theirs do.
//!
//! Those of the program's own instructions are left alone: a thread that waits in one would keep others from their trapped calls.

use gem_coherency_wire::call;

use super::Call;
use crate::hooks::{sends, transfers};
use crate::sites::{self, Transfer};

/// Makes a call that accesses memory; `None` if it is another one, or no page is watched.
pub(super) fn carry_out(call: &Call<'_>) -> Option<isize> {
    // The first: calls of this library's own locks come here, too.
    if !sites::is_collecting() {
        return None;
    }
    let (at, len) = (call.word(1), call.word(2));
    let transfer = match call.number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom => Transfer::to(at, len),
        libc::SYS_getrandom => Transfer::to(call.word(0), call.word(1)),
        libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => transfers::to_all(call.address(1), len),
        libc::SYS_recvmsg => transfers::to_message(call.address(1)),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => sends::from_one(at, len),
        libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => sends::from_all(call.address(1), len),
        libc::SYS_sendmsg => sends::from_message(call.address(1)),
        _ => return None,
    };
    let [first, second, third, fourth, fifth, sixth] = call.operands;
    // SAFETY: the program's call, of which the kernel checks the operands.
    let done = unsafe { call!(call.number, first, second, third, fourth, fifth, sixth) };
    drop(transfer);
    Some(done.map_or_else(|errno| -(errno as isize), |result| result as isize))
}
