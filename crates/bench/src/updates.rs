//! Stores to some lines of BOs, and the ways by which these lines get to memory before the GPU reads them.
//!
//! A [`Case`] chooses the stores; [`measure`] compares one submission by the library with every [`Peer`], and
//! checks that the submission flushes exactly the lines with a stored byte.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use crate::peers::Loop;
use gem_coherency::device::{Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::units::{ByteRange, LINE_BYTES};
use gem_coherency::vocabulary::{Access, MocsClass};

use crate::bytes::{Bytes, Flusher, Ranges, loops};
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::ordinary::{self, Part};
use crate::report::Found;
use crate::rounds::Rounds;

/// The name of the library's side.
pub const OURS: &str = "submit_with";
/// The name of the library's side that stores by a stream.
const STREAM: &str = "stream";
/// Stored bytes; no store is longer.
const DATA: [u8; 256] = [0xa5; 256];

/// A store of `len` bytes at `offset` of a BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    pub offset: u64,
    pub len: u64,
}

/// The stores before one submission: those to each of its BOs.
pub type Stores = Vec<Vec<Store>>;

/// The number of stores that one guard makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// One guard makes all stores to a BO.
    PerBo,
    /// Each store has a guard of its own.
    PerStore,
}

/// The order of the stores to a BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Front to back without a gap: a stream can make them.
    Sequential,
    /// Any.
    Scattered,
}

/// The work whose time is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// The submission; the stores come before it.
    Submission,
    /// The stores and the submission.
    Stores,
}

/// BOs of one submission, and stores to them.
pub struct Case<'a> {
    /// Name of the row.
    pub row: &'static str,
    /// Name of the case.
    pub name: String,
    /// The hardware.
    pub part: Part,
    /// Number of BOs.
    pub bos: u64,
    /// Size of each BO in bytes.
    pub size: u64,
    /// Chooses the stores before a submission; offsets increase.
    pub stores: &'a dyn Fn(&mut Numbers) -> Stores,
    /// The guards of the stores.
    pub guards: Guards,
    /// The order of the stores.
    pub order: Order,
    /// The work whose time is taken.
    pub timed: Timed,
    /// Number of operations in a turn.
    pub operations: u64,
}

impl<'a> Case<'a> {
    /// Returns the case of one BO where the GPU shares no cache: one guard makes the stores, in any order, and their time counts.
    pub fn of_bo(
        row: &'static str,
        name: String,
        size: u64,
        stores: &'a dyn Fn(&mut Numbers) -> Stores,
    ) -> Self {
        let (part, guards, order, timed) = (Part::NoLlc, Guards::PerBo, Order::Scattered, Timed::Stores);
        Self { row, name, part, bos: 1, size, stores, guards, order, timed, operations: 1 }
    }
}

/// A way by which stored lines get to memory.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The library, in one submission.
    Submit,
    /// The library, in one submission after stores by a stream.
    Stream,
    /// The library, in a submission for each BO.
    SubmitEach,
    /// Each BO with a stored byte is flushed whole.
    Whole(Flusher),
    /// Only lines with a stored byte are flushed; their addresses are known.
    Stored(Flusher),
}

/// A side that the library is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    name: &'static str,
    way: Way,
    target: Option<f64>,
}

impl Peer {
    /// Returns the submission of each BO by itself.
    pub fn each() -> Self {
        Self { name: "submit each", way: Way::SubmitEach, target: None }
    }

    /// Returns the flush of whole BOs by `by`.
    fn whole(by: Flusher) -> Self {
        Self { name: by.name(), way: Way::Whole(by), target: None }
    }

    /// Returns the flushes of whole BOs by the library and by every loop.
    pub fn all_whole(context: &Context) -> impl Iterator<Item = Self> {
        let by_loops = loops(&context.support).into_iter().map(Flusher::Loop);
        std::iter::once(Flusher::WriteBack).chain(by_loops).map(Self::whole)
    }

    /// Returns the necessary instructions alone: one write-back of each stored line, between two fences.
    pub fn floor() -> Self {
        Self { name: "floor", way: Way::Stored(Flusher::WriteBack), target: None }
    }

    /// Returns the flushes that drivers make, then the one by libpmem, if it is loaded, then the floor, with their targets.
    pub fn of_drivers(
        context: &Context,
        found: &mut Found,
        target: impl Fn(&str) -> Option<f64>,
    ) -> Vec<Self> {
        let by_pmem = context.pmem(found).map(Flusher::FlushAndDrain);
        let by_pmem = by_pmem.map(|by| Self { name: by.name(), way: Way::Stored(by), target: None });
        let by_driver = [Self::whole(Flusher::Loop(Loop::Clflush)), Self::stored_by_clflush()];
        let peers = by_driver.into_iter().chain(by_pmem).chain([Self::floor()]);
        peers.map(|peer| peer.judged(&target)).collect()
    }

    /// Returns the flush of each stored range by CLFLUSH, with a fence of its own.
    pub fn stored_by_clflush() -> Self {
        Self { name: "clflush stored", way: Way::Stored(Flusher::Loop(Loop::Clflush)), target: None }
    }

    /// Returns the peer with a target, if `target` has one for its name.
    pub fn judged(self, target: impl FnOnce(&str) -> Option<f64>) -> Self {
        Self { target: target(self.name), ..self }
    }
}

/// Returns a store of `len` bytes to the beginning of each of `lines`.
pub fn to_lines(lines: impl IntoIterator<Item = u64>, len: u64) -> Vec<Store> {
    lines.into_iter().map(|line| Store { offset: line * LINE_BYTES, len }).collect()
}

/// BOs of one submission.
struct Scene<'bo> {
    device: &'bo Device,
    part: Part,
    guards: Guards,
    bos: Vec<(&'bo Bo, Bytes<'bo>)>,
    batch: Vec<Submission<'bo>>,
    /// The bytes of a BO that a submission flushed, and those that it had to.
    wrong: Cell<Option<(u64, u64)>>,
}

/// The stores before one submission, with everything that a peer has to know.
#[derive(Default)]
struct Update<'bo> {
    /// BOs with a stored byte, and the ranges stored to.
    stored: Vec<(&'bo Bo, Bytes<'bo>, Vec<ByteRange>)>,
    /// Lines with a stored byte.
    lines: Ranges<'bo>,
    /// The bytes that the library has to flush of each BO of the submission.
    expected: Vec<u64>,
}

/// Returns the bytes to store to `range`.
fn data(range: ByteRange) -> &'static [u8] {
    DATA.get(..range.len() as usize).unwrap_or(&DATA)
}

impl<'bo> Scene<'bo> {
    /// Creates the scene of a case.
    fn new(case: &Case<'_>, device: &'bo Device, bos: &'bo [Bo]) -> Result<Self, Error> {
        Ok(Self {
            device,
            part: case.part,
            guards: case.guards,
            bos: bos.iter().map(|bo| Ok((bo, Bytes::of(bo)?))).collect::<Result<_, Error>>()?,
            batch: bos
                .iter()
                .map(|bo| Submission { bo, access: Access::Read, mocs: MocsClass::PageTable })
                .collect(),
            wrong: Cell::new(None),
        })
    }

    /// Restores the state before the stores: no line is marked, and all are in the cache, as far as they fit.
    ///
    /// Sides that bypass the library leave its marks.
    fn restore(&self) -> Result<(), Error> {
        for (_, bytes) in &self.bos {
            bytes.dirty(bytes.all());
            bytes.flush(Flusher::WriteBack, bytes.all());
        }
        Ok(self.device.submit_with(&self.batch, |_| Ok(()))?)
    }

    /// Returns the update that makes `stores`.
    fn update(&self, stores: &Stores) -> Result<Update<'bo>, Error> {
        let mut update = Update::default();
        for (&(bo, bytes), stores) in self.bos.iter().zip(stores) {
            let range = |store: &Store| bytes.range(store.offset, store.len);
            let ranges = stores.iter().map(range).collect::<Result<Vec<_>, _>>()?;
            let lines: BTreeSet<_> = ranges.iter().flat_map(|range| range.lines().indices()).collect();
            for line in &lines {
                update.lines.add(bytes, bytes.line(*line)?);
            }
            update.expected.push(match self.part {
                Part::NoLlc => lines.len() as u64 * LINE_BYTES,
                Part::Llc => 0,
            });
            if !ranges.is_empty() {
                update.stored.push((bo, bytes, ranges));
            }
        }
        Ok(update)
    }

    /// Stores by the library.
    fn write(&self, update: &Update<'_>) -> Result<(), Error> {
        let stores_of_guard = match self.guards {
            Guards::PerBo => usize::MAX,
            Guards::PerStore => 1,
        };
        for (bo, _, ranges) in &update.stored {
            for ranges in ranges.chunks(stores_of_guard) {
                let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { continue };
                let mut guard = bo.write(first.offset(), last.end() - first.offset())?;
                for &range in ranges {
                    guard.write_at(range.offset(), data(range))?;
                }
                guard.finish();
            }
        }
        Ok(())
    }

    /// Stores by a stream to each BO, through its pointer.
    fn stream(&self, update: &Update<'_>) -> Result<(), Error> {
        for (bo, bytes, ranges) in &update.stored {
            let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { continue };
            let len = last.end() - first.offset();
            let mut stream = bo.stream(first.offset(), len)?;
            stream.pointer()?;
            ranges.iter().for_each(|&range| bytes.store(range, data(range)));
            stream.advance(len)?;
            stream.finish();
        }
        Ok(())
    }

    /// Submits `batch`, and checks the number of bytes flushed of each BO.
    fn submit(&self, batch: &[Submission<'_>], expected: &[u64]) -> Result<(), Error> {
        let wrong = self.device.submit_with(batch, |reports| {
            let flushed = reports.iter().map(|report| report.bytes);
            Ok(flushed.zip(expected.iter().copied()).find(|(flushed, expected)| flushed != expected))
        })?;
        if wrong.is_some() {
            self.wrong.set(wrong);
        }
        Ok(())
    }

    /// Takes the stores of `update` to memory by `way`; makes them first if `timed` says so.
    fn carry_out(&self, way: Way, timed: Timed, update: &Update<'_>) -> Result<(), Error> {
        match (timed, way) {
            (Timed::Submission, _) => {}
            (Timed::Stores, Way::Submit | Way::SubmitEach) => self.write(update)?,
            (Timed::Stores, Way::Stream) => self.stream(update)?,
            (Timed::Stores, Way::Whole(_) | Way::Stored(_)) => {
                for (_, bytes, ranges) in &update.stored {
                    ranges.iter().for_each(|&range| bytes.store(range, data(range)));
                }
            }
        }
        match way {
            Way::Submit | Way::Stream => self.submit(&self.batch, &update.expected)?,
            Way::SubmitEach => {
                for (one, expected) in self.batch.chunks(1).zip(update.expected.chunks(1)) {
                    self.submit(one, expected)?;
                }
            }
            Way::Whole(by) => update.stored.iter().for_each(|(_, bytes, _)| bytes.flush(by, bytes.all())),
            Way::Stored(by) => update.lines.flush(by),
        }
        Ok(())
    }
}

/// Measures `case`: adds a line for the library beside each of `peers`. Where a stream can make the stores, it has the targets.
///
/// # Errors
/// Those of the library's calls.
pub fn measure(context: &Context, found: &mut Found, case: &Case<'_>, peers: &[Peer]) -> Result<(), Error> {
    let device = ordinary::device(case.part)?;
    let bos = (0..case.bos).map(|_| ordinary::bo(&device, case.size)).collect::<Result<Vec<_>, _>>()?;
    let scene = Scene::new(case, &device, &bos)?;
    let update = RefCell::new(Update::default());
    let mut numbers = Numbers::new();
    let mut rounds = Rounds::new(|| {
        scene.restore()?;
        let next = scene.update(&(case.stores)(&mut numbers))?;
        if case.timed == Timed::Submission {
            scene.write(&next)?;
        }
        update.replace(next);
        Ok(())
    });
    let (scene, update) = (&scene, &update);
    let by_stream = (case.order == Order::Sequential).then_some((STREAM, Way::Stream));
    let ours = std::iter::once((OURS, Way::Submit)).chain(by_stream);
    for (name, way) in ours.chain(peers.iter().map(|peer| (peer.name, peer.way))) {
        rounds.side(name, move || {
            let update = update.borrow();
            per_operation(case.operations, || scene.carry_out(way, case.timed, &update))
        });
    }
    let times = rounds.measure(context.effort)?;
    for (ours, target) in [(OURS, by_stream.is_none()), (STREAM, true)] {
        for peer in peers {
            let target = peer.target.filter(|_| target);
            found.push(times.line((case.row, &case.name), ours, peer.name, target));
        }
    }
    if let Some((flushed, expected)) = scene.wrong.get() {
        let (row, name) = (case.row, &case.name);
        found
            .wrong
            .push(format!("{row}, {name}: {flushed} bytes of a BO were flushed instead of {expected}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores to two lines of the first of two BOs, and submits both; returns the bytes to flush of each, and what
    /// is wrong with a first submission and with a second, which has nothing left to flush.
    fn submitted(part: Part, way: Way) -> (Vec<u64>, [Option<(u64, u64)>; 2]) {
        let case = Case {
            row: "row",
            name: "case".to_owned(),
            part,
            bos: 2,
            size: 4096,
            stores: &|_| vec![vec![Store { offset: 0, len: 40 }, Store { offset: 40, len: 40 }], Vec::new()],
            guards: Guards::PerBo,
            order: Order::Sequential,
            timed: Timed::Stores,
            operations: 1,
        };
        let device = ordinary::device(part).unwrap();
        let bos = [ordinary::bo(&device, case.size).unwrap(), ordinary::bo(&device, case.size).unwrap()];
        let scene = Scene::new(&case, &device, &bos).unwrap();
        scene.restore().unwrap();
        let update = scene.update(&(case.stores)(&mut Numbers::new())).unwrap();
        let wrong = [case.timed, Timed::Submission].map(|timed| {
            scene.carry_out(way, timed, &update).unwrap();
            scene.wrong.get()
        });
        (update.expected, wrong)
    }

    #[test]
    fn each_line_stored_to_is_flushed_once_and_anything_else_is_wrong() {
        for way in [Way::Submit, Way::Stream] {
            assert_eq!(submitted(Part::NoLlc, way), (vec![128, 0], [None, Some((0, 128))]), "{way:?}");
            assert_eq!(submitted(Part::Llc, way), (vec![0, 0], [None, None]), "{way:?}");
        }
    }
}
