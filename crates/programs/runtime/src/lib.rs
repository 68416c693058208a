//! The library that makes an unmodified program use software i915 devices.
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
//! L4  hooks: the functions that replace libc's
//! L3  paths: what stands for a path
//! L2  talk -> start   start -> talk   loads -> talk   talk -> loads   loads -> start   start -> loads: requests to the
//!     server; what happens when the library is loaded; loads of stale lines
//! L1  traps -> sites -> stores -> line -> mappings   traps -> user_memory   pool: flushes, their places and counts, mapped
//!     objects, memory of userptr objects; connections
//! L0  lock -> sys   real -> sys   identity -> sys   identity -> sandbox   sys -> sandbox   sandbox -> sys: system calls,
//!     libc's own functions, which process this is, filters that refuse system calls
//! ```

//!
//! # Safety
//!
//! A function that replaces one of libc's relies on what that function requires of its caller. Bytes of objects are
//! accessed only while the table of mappings has them, by atomic words. System calls get values that live until they
//! return.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(unsafe_code)]

mod hooks;
#[path = "system/identity.rs"]
mod identity;
#[path = "mapped/line.rs"]
mod line;
mod loads;
#[path = "system/lock.rs"]
mod lock;
#[path = "mapped/mappings.rs"]
mod mappings;
mod paths;
#[path = "server/pool.rs"]
mod pool;
mod real;
#[path = "system/sandbox.rs"]
mod sandbox;
#[path = "mapped/sites.rs"]
mod sites;
#[path = "server/connection.rs"]
mod start;
#[path = "mapped/stores.rs"]
mod stores;
#[path = "system/sys.rs"]
mod sys;
#[path = "server/exchange.rs"]
mod talk;
#[path = "mapped/traps.rs"]
mod traps;
#[path = "mapped/user_memory.rs"]
mod user_memory;
