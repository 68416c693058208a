//! System calls that let the kernel access memory: their pages are opened, as the functions that replace libc's do.
//!
//! The kernel makes those of the program's own instructions after that, because a thread that waits in a handler would keep others from
//! their trapped calls: their pages stay open until another thread submits.

use std::ffi::c_long;

use gem_coherency_protocol::call;

use super::Call;
use crate::hooks::{sends, transfers};
use crate::mapped::sites::{self, Transfer};

/// Returns the function that begins the transfer of a call with this number; `None` for calls that do not access memory.
fn begin(number: c_long) -> Option<fn(&Call<'_>) -> Transfer> {
    Some(match number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom => {
            |call| Transfer::to(call.word(1), call.word(2))
        }
        libc::SYS_getrandom => |call| Transfer::to(call.word(0), call.word(1)),
        libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => {
            |call| transfers::to_all(call.address(1), call.word(2))
        }
        libc::SYS_recvmsg => |call| transfers::to_message(call.address(1)),
        libc::SYS_recvmmsg => |call| transfers::to_messages(call.address(1), call.word(2)),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => {
            |call| sends::from_one(call.word(1), call.word(2))
        }
        libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            |call| sends::from_all(call.address(1), call.word(2))
        }
        libc::SYS_sendmsg => |call| sends::from_message(call.address(1)),
        libc::SYS_sendmmsg => |call| sends::from_messages(call.address(1), call.word(2)),
        libc::SYS_mlock | libc::SYS_mlock2 => |call| sends::of_pages(call.word(0), call.word(1)),
        _ => return None,
    })
}

/// Returns whether a call with this number accesses memory.
pub(super) fn concerns(number: c_long) -> bool {
    begin(number).is_some()
}

/// Opens the pages that a call accesses, and leaves the call to the kernel.
pub(super) fn open(call: &Call<'_>) {
    if sites::is_collecting()
        && let Some(begin) = begin(call.number)
    {
        drop(begin(call));
    }
}

/// Makes a call that accesses memory; `None` if it is another one, or no page is watched.
pub(super) fn carry_out(call: &Call<'_>) -> Option<isize> {
    // The first: calls of this library's own locks come here, too.
    if !sites::is_collecting() {
        return None;
    }
    let transfer = begin(call.number)?(call);
    let [first, second, third, fourth, fifth, sixth] = call.operands;
    // SAFETY: the program's call, of which the kernel checks the operands.
    let done = unsafe { call!(call.number, first, second, third, fourth, fifth, sixth) };
    drop(transfer);
    Some(done.map_or_else(|errno| -(errno as isize), |result| result as isize))
}
