//! The threads of a dispatch, run one after the other.

use std::fmt;

use gem_coherency::device::Device;
use gem_coherency::platform::Machine;
use gem_coherency_exercise::commands;
use gem_coherency_sim::Overtime;
use intel_eu::Platform;
use intel_eu::execute::{Shader, Stop, Thread, Why};

use super::Watched;

/// Number of instructions of a thread between two looks at the time.
const SLICE: u64 = 1 << 12;
/// Channels of a shader's thread.
pub const CHANNELS: u32 = 16;
/// Bytes of a register.
const REGISTER_BYTES: usize = 32;

/// Returns the platform of a device's shaders.
///
/// # Errors
/// A sentence: the device's shaders are not known, or a batch cannot start them.
pub fn platform(device: &Device) -> Result<Platform, String> {
    let machine = device.machine();
    let name = machine.platform.name;
    let unknown = || format!("the instructions of {name}'s execution units are not known");
    let platform = Platform::from_name(name).ok_or_else(unknown)?;
    commands::shaders::copy(machine).map_err(|error| error.to_string())?;
    Ok(platform)
}

/// The threads of a shader.
#[derive(Clone, Copy, Debug)]
pub struct Threads<'a> {
    /// The platform of the shader.
    pub platform: Platform,
    /// The shader's instructions.
    pub code: &'a [u8],
    /// Number of threads; each finds its number in r0.1.
    pub count: u32,
    /// Channels of a thread: 8, 16 or 32.
    pub channels: u32,
    /// The dwords that each thread finds in r1, at most 8.
    pub constants: &'a [u32],
}

/// The reason why a thread stopped before its end.
#[derive(Debug)]
pub enum Halt {
    /// An instruction whose effect is not known, or undefined.
    Stopped(Stop),
    /// The shader was ended for this reason.
    Ended {
        /// The first byte of the thread's next instruction.
        at: u32,
        /// The reason.
        why: Overtime,
        /// The number of the thread that ran.
        thread: u32,
    },
    /// An access to a surface that is not given.
    NoSurface {
        /// The instruction's first byte.
        at: u32,
        /// The entry of the binding table.
        surface: u8,
        /// Number of given surfaces.
        count: usize,
    },
    /// An access that the device refused.
    Access {
        /// The instruction's first byte.
        at: u32,
        /// The error.
        error: gem_coherency::Error,
    },
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(stop) => stop.fmt(f),
            Self::Ended { at, why: Overtime::Endless, thread } => write!(
                f,
                "instruction at {at:#x}: thread {thread} does not end, and hangs the GPU; if it only takes long, give it more time \
                 (--device sim:PLATFORM,hang=TIME)"
            ),
            Self::Ended { at, why: Overtime::Unwanted, thread } => {
                write!(f, "instruction at {at:#x}: the shader was ended while thread {thread} ran")
            }
            Self::NoSurface { at, surface, count } => {
                write!(
                    f,
                    "instruction at {at:#x}: it accesses surface {surface}, and there are {count}: give more"
                )
            }
            Self::Access { at, error } => write!(f, "instruction at {at:#x}: {error}"),
        }
    }
}

impl std::error::Error for Halt {}

impl Threads<'_> {
    /// Runs all threads to their ends, one after the other; returns the number of instructions that they executed.
    ///
    /// # Errors
    /// The first instruction that cannot be executed, or access that cannot be made. Accesses before it have been made.
    pub fn run(&self, watched: &mut Watched<'_>) -> Result<u64, Halt> {
        let enabled = u32::MAX >> (32 - self.channels.clamp(1, 32));
        let shader = Shader::new(self.platform, self.code);
        shader.check(enabled).map_err(Halt::Stopped)?;
        let mut executed = 0;
        let mut clock = watched.clock(self.count);
        for number in 0..self.count {
            let ended = |at, why| Halt::Ended { at, why, thread: number };
            let mut thread = Thread::new(&shader, enabled, &self.payload(number));
            executed += loop {
                match thread.run(SLICE, watched) {
                    Ok(steps) => break steps,
                    Err(Stop { at, why: Why::Endless { steps } }) => {
                        executed += steps;
                        watched.check()?;
                        clock.tick(|| false).map_err(|why| ended(at, why))?;
                    }
                    Err(stop) => return Err(Halt::Stopped(stop)),
                }
            };
            watched.check()?;
            clock.end_thread(|| false).map_err(|why| ended(0, why))?;
        }
        Ok(executed)
    }

    /// Returns the first registers of a thread: its number, then constants.
    fn payload(&self, number: u32) -> Vec<[u8; REGISTER_BYTES]> {
        let register = |dwords: &[u32]| {
            let mut bytes = [0; REGISTER_BYTES];
            let from = dwords.iter().flat_map(|dword| dword.to_le_bytes());
            bytes.iter_mut().zip(from).for_each(|(byte, from)| *byte = from);
            bytes
        };
        let constants = (!self.constants.is_empty()).then(|| register(self.constants));
        [register(&[0, number])].into_iter().chain(constants).collect()
    }

    /// Checks that a batch of the device can start the threads on these surfaces: the size of each, and its MOCS entry.
    ///
    /// # Errors
    /// Those of [`commands::walker`].
    pub fn check(
        &self,
        machine: &Machine,
        surfaces: &[(u64, Option<u8>)],
    ) -> Result<(), gem_coherency_exercise::Error> {
        let bytes = |(buffer, &(len, mocs)): (u32, &(u64, Option<u8>))| commands::Bytes {
            buffer,
            offset: 0,
            len,
            mocs,
        };
        let surfaces: Vec<_> = (0..).zip(surfaces).map(bytes).collect();
        let what = commands::Walker {
            shader: self.code,
            surfaces: &surfaces,
            constants: self.constants,
            groups: self.count,
        };
        commands::walker(machine, &what, surfaces.len() as u32).map(drop)
    }
}
