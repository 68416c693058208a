//! What a display has, and the state of its planes.

use super::interrupts::Block;

/// How many pipes there are at most, and the distance of their registers.
pub const PIPES: u32 = 4;
pub const DISTANCE: u32 = 0x1000;

/// What a platform's display has beyond what all have.
pub struct Model {
    /// Registers that are not zero after power-up.
    pub power_up: &'static [(u32, u32)],
    /// Registers that read the same whatever was written.
    pub constants: &'static [(u32, u32)],
    /// Requests with a state that follows them.
    pub states: &'static [State],
    /// Registers whose bits a write of one clears.
    pub clear_on_write: &'static [Row],
    /// Registers that stand for several lanes of a port's PHY.
    pub phy_groups: &'static [PhyGroup],
    /// For each pipe, where it reports a vertical blank and a finished flip.
    pub pipe_events: &'static [(Block, u32)],
    pub scanout: &'static Scanout,
}

/// Registers of the same kind, at equal distances.
#[derive(Clone, Copy)]
pub struct Row {
    pub first: u32,
    pub distance: u32,
    pub count: u32,
}

impl Row {
    pub const fn one(register: u32) -> Self {
        Self { first: register, distance: 4, count: 1 }
    }

    pub fn holds(self, register: u32) -> bool {
        register
            .checked_sub(self.first)
            .is_some_and(|offset| offset % self.distance == 0 && offset / self.distance < self.count)
    }
}

/// A state that follows a request in the same register, at once.
pub struct State {
    pub registers: Row,
    pub request: u32,
    pub state: u32,
    /// Whether the state is set while the request is not.
    pub inverted: bool,
}

impl State {
    pub const fn follows(registers: Row, request: u32, state: u32) -> Self {
        Self { registers, request, state, inverted: false }
    }

    pub const fn opposes(registers: Row, request: u32, state: u32) -> Self {
        Self { registers, request, state, inverted: true }
    }
}

/// Registers of a PHY that reach both pairs of a channel's lanes.
pub struct PhyGroup {
    /// Where the group's registers are, and where those of the first pair.
    pub group: u32,
    pub lanes: u32,
}

/// Where a pipe reports that a CRC is there.
#[derive(Clone, Copy)]
pub enum CrcDone {
    ErrorInterrupts,
    PipeBlock,
}

/// How a platform's pipes read.
pub struct Scanout {
    pub layout: &'static Layout,
    /// The bits of the CRC's control register that choose a source, and their value for the whole pipe.
    pub source: u32,
    pub whole_pipe: u32,
    pub crc_done: CrcDone,
}

/// How the registers of primary planes are read.
pub struct Layout {
    /// Bytes in a unit of the stride of a linear picture.
    pub stride_unit: u64,
    /// The register with the picture's width and height, less one, and from which bits on these are.
    pub size: u32,
    pub width_shift: u32,
    pub height_shift: u32,
    /// Bits of the control register that are the format, formats, and bytes of a pixel.
    pub format: u32,
    pub formats: &'static [(u32, u64)],
    /// Bits of the control register that are set for a tiled picture.
    pub tiling: u32,
}

/// A linear picture, or the part of it that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// Where it is in the global space.
    pub at: u64,
    /// Bytes from one line to the next.
    pub stride: u64,
    /// Bytes of a line that are shown.
    pub line: u64,
    pub lines: u64,
}

impl Picture {
    /// The address of each line.
    pub fn starts(self) -> impl Iterator<Item = u64> {
        (0..self.lines).map(move |line| self.at + line * self.stride)
    }
}

/// The state of a plane.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Plane {
    #[default]
    Off,
    Shows(Picture),
    /// It shows a picture of an unknown form; the control register.
    Unknown(u32),
}

/// The last lines in the log about a pipe's primary plane and its cursor.
pub type Logged = [(Plane, Option<usize>); 2];
