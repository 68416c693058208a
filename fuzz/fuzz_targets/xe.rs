//! Any system calls of a simulated process, on a software device of xe: no panic, no end to wait for, and
//! nothing left when the process is gone.

#![no_main]

use gem_coherency_fuzz::{input::Input, process::calls, watch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| watch::nothing_lost(|| calls::make_all_of_xe(&mut Input::new(bytes))));
