//! Any calls of the library's user, on software devices whose caches do what they like and whose
//! requests fail: who reads sees the newest bytes, and nothing is left open.

#![no_main]

use gem_coherency_fuzz::{caller, input::Input, watch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| watch::nothing_lost(|| caller::make_all(&mut Input::new(bytes))));
