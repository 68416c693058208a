//! Which calls have succeeded: a target whose calls all fail would find nothing, and look as busy.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The calls that have succeeded in this run of the target.
static DONE: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Notes that a call of this name succeeded; prints so the first time.
pub fn note(name: &'static str) {
    if DONE.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        eprintln!("first success: {name}");
    }
}
