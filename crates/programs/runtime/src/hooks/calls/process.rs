//! fork(2) and clone(2): a child with a copy of the memory is registered as libc's fork registers one.
//!
//! A child that shares the memory needs nothing: it makes requests as its parent, whose mappings are its own, too.

use std::ffi::c_int;

use gem_coherency_protocol::call;

use super::Call;
use crate::hooks::processes::children::{forked, is_copied};
use crate::system::sys;

/// `struct clone_args` up to the part that all kernels with clone3(2) have: flags, pidfd, child_tid, parent_tid,
/// exit_signal, stack, stack_size, tls.
type Arguments = [u64; 8];

/// Places in it.
const STACK: usize = 5;
const STACK_SIZE: usize = 6;

/// Creates a child; `None` if the kernel does it without this library.
pub(super) fn create(call: &mut Call<'_>) -> Option<isize> {
    let (mut flags, mut stack) = (libc::SIGCHLD as u64, 0);
    let mut arguments: Arguments = [0; 8];
    match call.number {
        libc::SYS_fork => {}
        // Its child returns from this function before the parent does.
        libc::SYS_vfork if call.state.is_none() => {}
        libc::SYS_clone => (flags, stack) = (call.word(0) as u64, call.word(1)),
        libc::SYS_clone3 if call.word(1) >= size_of::<Arguments>() => {
            // SAFETY: they are numbers.
            arguments = unsafe { sys::read_own(call.address(0)) }?;
            flags = arguments[0];
            if arguments[STACK] != 0 {
                stack = arguments[STACK].wrapping_add(arguments[STACK_SIZE]) as usize;
            }
            (arguments[STACK], arguments[STACK_SIZE]) = (0, 0);
        }
        _ => return None,
    }
    // A function's child on a stack of its own has nowhere to return to.
    if !is_copied(flags) || (stack != 0 && call.state.is_none()) {
        return None;
    }
    if flags & libc::CLONE_SETTLS as u64 != 0 {
        call.refuse(b"clone(2) with CLONE_SETTLS and without CLONE_VM");
    }
    // SAFETY: the child has a copy of this stack. The kernel checks the addresses.
    let done = forked(|| unsafe {
        if call.number == libc::SYS_clone3 {
            // Members of later kernels stay those of the program.
            clone3(call, &arguments)
        } else {
            call!(libc::SYS_clone, flags, 0, call.address::<u8>(2), call.address::<u8>(3), 0)
        }
    });
    if done == Ok(0)
        && stack != 0
        && let Some(state) = &mut call.state
    {
        state.set_stack(stack);
    }
    Some(done.map_or_else(|errno| -(errno as isize), |pid| pid as isize))
}

/// Most bytes of `struct clone_args` that are passed on.
const MOST_ARGUMENTS: usize = 256;

/// clone3(2) with other first members.
///
/// # Safety
/// The child continues here.
unsafe fn clone3(call: &Call<'_>, first: &Arguments) -> Result<usize, c_int> {
    let len = call.word(1);
    let mut all = [0_u64; MOST_ARGUMENTS / 8];
    let Some(room) = all.get_mut(..len / 8).filter(|_| len.is_multiple_of(8)) else {
        call.refuse(b"clone3(2) with arguments of an unknown size");
    };
    for (n, to) in room.iter_mut().enumerate() {
        // SAFETY: they are numbers.
        *to = unsafe { sys::read_own(call.address::<u64>(0).wrapping_add(n)) }.ok_or(libc::EFAULT)?;
    }
    room.iter_mut().zip(first).for_each(|(to, from)| *to = *from);
    // SAFETY: the caller's obligation.
    unsafe { call!(libc::SYS_clone3, all.as_ptr(), len) }
}
