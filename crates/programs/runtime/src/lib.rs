//! The library that makes an unmodified program use software devices of i915 and xe.
//!
//! It is loaded with `LD_PRELOAD` and replaces functions of libc. Where they are about `/dev/dri`, the device's place
//! in sysfs, or one of a device's files, it forwards them to the server that `GEM_COHERENCY_SERVER` names
//! ([`gem_coherency_protocol`]); all others go to libc. Without the variable it changes nothing.
//!
//! The program's own kernel keeps account of descriptors and mappings: a device's file is a socket, and a mapping is
//! one of a shared memory file. So copies, children, `SCM_RIGHTS`, poll(2) and the end of the program need no code here.
//!
//! Functions here run inside of a program that may be in a signal handler, between fork(2) and execve(2), or have no
//! memory left: they use system calls, allocate nothing, and hold locks only while signals are blocked.
//!
//! # Layers
//!
//! ```text
//! L6  hooks: the functions that replace libc's
//! L5  paths: what stands for a path
//! L4  start: the start of the library, forks, the end
//! L3  loads: loads of stale lines
//! L2  server: connections and requests
//! L1  mapped   real: objects' bytes; libc's own functions
//! L0  system: system calls
//! ```
//!
//! * `hooks`: the functions that replace libc's, and system calls that the program makes itself. Not what they ask the server for.
//! * `paths`: the paths that the server has files for, and what these files are. Not the functions that take paths.
//! * `start`: what is done when the library is loaded, before and after a fork, and at the end. Not the connection that it needs.
//! * `loads`: looks at loads of stale lines, and reports them. Not which pages are hidden for that.
//! * `server`: finds the server, connects to it, makes requests, and serves its calls. Not what the program's functions make of replies.
//! * `mapped`: mapped objects and their lines, with flushes, stores, fences, counts and hidden pages. Not requests to the server.
//! * `real`: finds libc's functions behind those of this library. Not system calls.
//! * `system`: system calls, refused ones, locks, and which process this is. Not devices.
//!
//! # Safety
//!
//! A function that replaces one of libc's relies on what that function requires of its caller. Bytes of objects are
//! accessed only while the table of mappings has them, by atomic words. System calls get values that live until they
//! return.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(unsafe_code)]

mod hooks;
mod loads;
mod mapped;
mod paths;
mod real;
mod server;
mod start;
mod system;
