//! The trait of a judge, which the server tells what programs do.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use gem_coherency::units::LineRange;
use gem_coherency_protocol::Frame;
use gem_coherency_sim::{MadeStale, Screens, SimDevice};

/// The processes that write the same files of records: a program, and its children until they execute another program.
///
/// Each of the processes has a reference. A judge has weak ones, which tell whether a process is left.
#[derive(Debug, Default)]
pub struct RecordWriters(());

/// Judges what programs do. The calls come from the threads of connections, each in the order of its program's requests.
pub trait Judge: fmt::Debug + Send + Sync {
    /// Begins with the devices of a server, which have no objects yet.
    fn begin(&self, devices: &[SimDevice]);

    /// Returns whether programs report each first load of a line that flushes dropped; otherwise those of old bytes.
    fn wants_loads(&self) -> bool;

    /// A program's table of first stores is in a file.
    fn add_stores(&self, devices: &[SimDevice], file: File, writers: &Arc<RecordWriters>);

    /// A program's records of the places of its flushes, and the log after them, are in a file.
    fn add_flushes(&self, devices: &[SimDevice], file: File, writers: &Arc<RecordWriters>);

    /// A program is about to make a request on a file, of `device` if it is one's. Returns the screens, if it may change what they show.
    fn before(&self, devices: &[SimDevice], device: Option<&SimDevice>, code: u32) -> Option<Screens>;

    /// A program has made a request.
    fn after(&self, program: &dyn Program, done: Done<'_>);

    /// A program loaded lines of an object by a call stack.
    fn loaded(&self, devices: &[SimDevice], object: u64, lines: LineRange, stack: Vec<Frame>);

    /// A program is about to exit, or `closes` a device.
    fn before_exit_or_close(&self, program: &dyn Program, closes: bool);

    /// Files of programs may have been closed.
    fn settle(&self, devices: &[SimDevice]);

    /// Tells what was found since the last time; returns whether the program that shows it is to be halted.
    fn halts(&self) -> bool;

    /// Returns whether loads of an object have to be seen.
    fn sees_loads(&self, object: u64) -> bool;

    /// Returns the lines of an object that became stale so far.
    fn stale_lines(&self, object: u64) -> Vec<LineRange>;
}

/// A request that was made.
#[derive(Debug)]
pub struct Done<'a> {
    /// The devices that logged it: that of the file, or all for a dma-buf's.
    pub on: Vec<&'a SimDevice>,
    /// The device of the file, if it is one's.
    pub device: Option<&'a SimDevice>,
    /// The code.
    pub code: u32,
    /// It succeeded.
    pub succeeded: bool,
    /// The lines that became stale before it.
    pub made_stale: Vec<MadeStale>,
    /// What [`Judge::before`] returned.
    pub screens: Option<Screens>,
}

/// A program during its request.
pub trait Program {
    /// Returns the devices of the server.
    fn devices(&self) -> &[SimDevice];

    /// Returns the call stack of the request; empty if the program does not know it, or is gone.
    fn stack(&self) -> Vec<Frame>;

    /// Lets the program see its first load of each page of an object's lines; returns false where others map the object, too.
    fn see_loads(&self, device: &SimDevice, object: u64, lines: &[LineRange]) -> bool;

    /// Notes lines of an object that became stale: this program is told when its request is over, the others at their next one.
    fn note_stale(&self, object: u64, lines: &[LineRange]);
}
