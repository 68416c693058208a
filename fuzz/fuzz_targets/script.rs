//! Any bytes as a script: an error that says where, or a script, whose steps' own texts make the same
//! script, and which does the same whenever it is carried out.

#![no_main]

use gem_coherency_fuzz::{scripts, watch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| watch::nothing_lost(|| scripts::check(bytes)));
