//! The errors with which a command fails: usage or environment, exit status 2.

use std::fmt;
use std::io;

use gem_coherency::platform::by_name;
use gem_coherency::{OpenError, Unknown};
use gem_coherency_exercise::Error;
use gemtool::kernel_trace;

/// The error that stopped a command.
#[derive(Debug)]
pub enum Failure {
    /// A value that cannot be used, and the flag that gave it.
    Flag {
        /// The flag, as typed.
        flag: &'static str,
        /// The error in its value.
        why: String,
    },
    /// A step that the library or the device refused.
    Step {
        /// The step.
        step: String,
        /// The error.
        error: Error,
    },
    /// An error of the library that needs no addition.
    Library(Error),
    /// The environment is wrong.
    Environment(String),
    /// Output could not be written.
    Output(io::Error),
}

impl Failure {
    /// Returns true for EPIPE, which is not a failure.
    pub fn is_broken_pipe(&self) -> bool {
        match self {
            Self::Output(error) => error.kind() == io::ErrorKind::BrokenPipe,
            Self::Flag { .. } | Self::Step { .. } | Self::Library(_) | Self::Environment(_) => false,
        }
    }

    /// Creates the failure of a bad value of `flag`.
    pub fn flag(flag: &'static str, why: impl ToString) -> Self {
        Self::Flag { flag, why: why.to_string() }
    }

    /// Creates the failure of a value of `flag` that the library refused, with gemtool's hint.
    pub fn refused(flag: &'static str, error: impl Into<Error>) -> Self {
        let error = error.into();
        Self::flag(flag, format!("{error}{}", hint(&error)))
    }

    /// Creates the failure of a command that is not in this build.
    #[cfg(not(all(feature = "bench", feature = "programs")))]
    pub fn not_built(command: &str) -> Self {
        Self::Environment(format!(
            "gemtool was built without '{command}': crates/gemtool/install builds and installs all commands"
        ))
    }

    /// Adds the number of the BO that failed, if there are several.
    pub fn about_bo(self, number: u64, count: u64) -> Self {
        match self {
            Self::Step { step, error } if count > 1 => {
                Self::Step { step: format!("BO {number} of {count}: {step}"), error }
            }
            Self::Flag { .. }
            | Self::Step { .. }
            | Self::Library(_)
            | Self::Environment(_)
            | Self::Output(_) => self,
        }
    }

    /// Returns a function that turns the library's error into a failure of `step`.
    pub fn step<E: Into<Error>>(step: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |error| Self::Step { step: step.into(), error: error.into() }
    }
}

/// Returns a hint for gemtool's user: the library's text names no flag and no command.
fn hint(error: &Error) -> String {
    if let Error::Library(gem_coherency::Error::Open(OpenError::NoDevice { found, .. })) = error {
        let xe = if found.contains("the driver 'xe'") { XE_HINT } else { "" };
        format!(" (--device PATH, or --device sim:jsl){xe}")
    } else if let Error::Library(gem_coherency::Error::Open(OpenError::CannotOpen { path, .. })) = error {
        let platform = path.to_str().filter(|name| by_name(name).is_ok());
        platform.map_or_else(String::new, |name| format!("; did you mean sim:{name}?"))
    } else if let Error::Library(
        gem_coherency::Error::Unknown(Unknown::Platform { .. })
        | gem_coherency::Error::Open(OpenError::BadDeviceSpec { .. }),
    ) = error
    {
        "; `gemtool platforms` lists the platforms".to_owned()
    } else if let Error::Library(gem_coherency::Error::Open(OpenError::NotI915 { driver, .. })) = error {
        if driver == "xe" { XE_HINT.to_owned() } else { String::new() }
    } else {
        String::new()
    }
}

/// What to do about a device of xe.
const XE_HINT: &str = "; `gemtool info`, `alloc` and `trace` work on it, `gemtool explain --driver xe` answers for it, and i915.force_probe=ID xe.force_probe=!ID gives what both drive to i915";

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag { flag, why } => write!(f, "{flag}: {why}"),
            Self::Step { step, error } => write!(f, "{step}: {error}"),
            Self::Library(error) => write!(f, "{error}{}", hint(error)),
            Self::Environment(why) => f.write_str(why),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<gem_coherency::Error> for Failure {
    fn from(error: gem_coherency::Error) -> Self {
        Self::Library(error.into())
    }
}

impl From<Unknown> for Failure {
    fn from(error: Unknown) -> Self {
        Self::Library(error.into())
    }
}

impl From<kernel_trace::Error> for Failure {
    fn from(error: kernel_trace::Error) -> Self {
        Self::Environment(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every check passed.
    Passed,
    /// A rule or an expectation failed.
    Violated,
    /// Another status: that of a program, or 3 if nothing was judged.
    Status(u8),
}
