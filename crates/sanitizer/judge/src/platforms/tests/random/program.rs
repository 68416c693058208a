//! The steps of random programs.

use gem_coherency::vocabulary::MocsClass;

/// The lines that programs use: in two pages.
const LINES: [u64; 5] = [0, 1, 7, 63, 64];
/// Kinds of steps of every program, by weight.
const COMMON: u64 = 26;
/// Groups of four kinds of steps, by weight, for one group of agents each.
const GROUPS: u64 = 7;

/// Number of kinds of steps.
pub(super) const STEPS: usize = 28;

/// A step of a program; most have a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Of this byte, through one of two write-back mappings, as two processes have them.
    Store(u64, u8, bool),
    /// Of the bytes that the program stored last.
    StoreEqual(u64),
    StoreWc(u64, u8),
    StoreGtt(u64, u8),
    Load(u64, bool),
    LoadWc(u64),
    Flush(u64),
    WriteBack(u64),
    Pread(u64),
    Pwrite(u64, u8),
    SetDomain,
    Submit,
    GpuRead(u64, MocsClass),
    GpuWrite(u64, u8),
    /// The object becomes a framebuffer.
    Frame,
    Display(u64),
    ImporterRead(u64),
    ImporterWrite(u64, u8),
    /// Commands that are not simulated name the object, and access the line.
    SkippedRead(u64),
    SkippedWrite(u64, u8),
    /// Commands after a predicated jump access the line: none of them is followed.
    UnfollowedRead(u64),
    UnfollowedWrite(u64, u8),
    /// By the GPU, in a context of another file that opened the object by its name.
    OtherRead(u64),
    OtherWrite(u64, u8),
    /// Of the program's own memory, of which it made an object.
    UserStore(u64, u8),
    UserFlush(u64),
    UserRead(u64, MocsClass),
    UserWrite(u64, u8),
}
use Step::*;

/// A generator of numbers (SplitMix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    /// Returns a program: of the commonest steps on two lines, or with as many of one group, or of all groups on all lines; in one process
    /// or in two.
    pub(super) fn program(&mut self) -> Vec<Step> {
        let steps = 6 + self.below(20);
        let two = self.below(2) == 0;
        let (lines, first, kinds) = match self.below(2 + GROUPS) {
            0 => (2, COMMON, 0),
            1 => (LINES.len() as u64, COMMON, 4 * GROUPS),
            group => (2, COMMON + 4 * (group - 2), 4),
        };
        let mut step = || {
            let is_common = kinds == 0 || self.below(2) == 0;
            let kind = if is_common { self.below(COMMON) } else { first + self.below(kinds) };
            self.step(lines, kind, two)
        };
        let mut program: Vec<_> = (0..steps).map(|_| step()).collect();
        let (line, at) = (LINES[self.below(2) as usize], self.below(steps) as usize);
        // Which no other step has.
        let byte = 3;
        let access = first + self.below(kinds.max(1));
        let access = self.step_on(line, access, two);
        // What each verdict depends on: a line that the program reads back, flushed at the wrong side of the GPU's write, and one that
        // an agent of the group accesses.
        let often = match self.below(6) {
            0 | 1 => &[Load(line, false), Flush(line), GpuWrite(line, byte), Load(line, false)][..],
            2 => &[Store(line, byte, false), Flush(line), access],
            3 => &[Load(line, false), access, Flush(line), Load(line, false)],
            _ => &[],
        };
        program.splice(at..at, often.iter().copied());
        program
    }

    fn step(&mut self, lines: u64, kind: u64, two: bool) -> Step {
        let line = LINES[self.below(lines) as usize];
        self.step_on(line, kind, two)
    }

    fn step_on(&mut self, line: u64, kind: u64, two: bool) -> Step {
        let byte = self.below(3) as u8;
        let flag = self.below(4) == 0;
        let second = two && flag;
        match kind {
            0..4 => Store(line, byte, second),
            4..8 => StoreEqual(line),
            8..15 => Flush(line),
            15 => WriteBack(line),
            16..18 => Load(line, second),
            18..20 => GpuRead(line, if flag { MocsClass::BypassLlc } else { MocsClass::PageTable }),
            20..22 => GpuWrite(line, byte),
            22 => Pread(line),
            23 => Pwrite(line, byte),
            24 => SetDomain,
            25 => Submit,
            // The groups of four.
            26 => StoreWc(line, byte),
            27 => StoreGtt(line, byte),
            28 | 29 => LoadWc(line),
            30 => Frame,
            31..34 => Display(line),
            34..37 => ImporterRead(line),
            37 => ImporterWrite(line, byte),
            38 | 42 => SkippedWrite(line, byte),
            39 | 43 => UnfollowedWrite(line, byte),
            40 => SkippedRead(line),
            41 => UnfollowedRead(line),
            44 | 45 => Load(line, second),
            46 | 47 => OtherRead(line),
            48 | 49 => OtherWrite(line, byte),
            50 => UserStore(line, byte),
            51 => UserFlush(line),
            52 => UserRead(line, if flag { MocsClass::BypassLlc } else { MocsClass::PageTable }),
            _ => UserWrite(line, byte),
        }
    }
}
