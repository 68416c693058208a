//! `gemtool explain`: one decision, or the whole table.

pub mod driver;
pub mod kernel;

use crate::failure::Failure;

/// Refuses flags that have no meaning here, instead of ignoring them.
fn refuse(flags: &[(&'static str, bool)], why: &str) -> Result<(), Failure> {
    match flags.iter().find(|(_, given)| *given) {
        Some(&(flag, _)) => Err(Failure::flag(flag, why)),
        None => Ok(()),
    }
}
