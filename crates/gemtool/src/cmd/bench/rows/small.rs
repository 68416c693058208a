//! A write to few lines of a large BO.

use std::cell::RefCell;
use std::collections::BTreeSet;

use gem_coherency::bo::Bo;
use gem_coherency::device::{Device, Submission};
use gem_coherency::units::{ByteRange, LINE_BYTES};
use gem_coherency::vocabulary::{Access, MocsClass};

use super::super::Context;
use super::super::bytes::{Bytes, Flusher, loops};
use super::super::clock::per_operation;
use super::super::numbers::Numbers;
use super::super::ordinary;
use super::super::report::{Found, Target};
use super::super::rounds::Rounds;
use crate::failure::Failure;
use crate::render::bytes;

pub const NAME: &str = "small-updates";

/// One of this many lines is written.
const ONE_IN: u64 = 100;

/// Stores to `lines` of the BO.
fn write(bo: &Bo, lines: &BTreeSet<u64>) -> Result<(), Failure> {
    let mut guard = bo.write(0, bo.size())?;
    for line in lines {
        guard.write_at(line * LINE_BYTES, &line.to_le_bytes())?;
    }
    guard.finish();
    Ok(())
}

/// Submits the BO for the GPU's next read; returns the number of bytes flushed.
pub(super) fn submit(device: &Device, bo: &Bo) -> Result<u64, Failure> {
    let submission = Submission { bo, access: Access::Read, mocs: MocsClass::PageTable };
    Ok(device.submit_with(&[submission], |reports| Ok(reports.iter().map(|report| report.bytes).sum()))?)
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Failure> {
    let device = ordinary::device()?;
    let size = context.effort.pick(8 << 20, 64 << 10);
    let bo = ordinary::bo(&device, size)?;
    let whole = Bytes::of(&bo)?;
    let all = ByteRange::within(0, size, size)?;
    let numbers = RefCell::new(Numbers::new());
    let touched = RefCell::new(BTreeSet::new());
    let wrong = RefCell::new(Vec::new());
    let choose = || {
        let mut numbers = numbers.borrow_mut();
        let lines = size / LINE_BYTES;
        let mut chosen = BTreeSet::new();
        while (chosen.len() as u64) < lines / ONE_IN {
            chosen.insert(numbers.below(lines));
        }
        chosen
    };
    let exact = |flushed: u64, touched: &BTreeSet<u64>| {
        let written = touched.len() as u64 * LINE_BYTES;
        if flushed != written {
            wrong.borrow_mut().push(format!("{NAME}: {flushed} bytes were flushed, {written} were touched"));
        }
    };
    let loops: Vec<_> = loops(&context.support).into_iter().map(Flusher::Loop).collect();
    let by_whole = || std::iter::once(Flusher::WriteBack).chain(loops.iter().copied());
    for with_writes in [false, true] {
        // Sides that bypass the library leave its dirty marks.
        let mut rounds = Rounds::new(|| {
            bo.flush()?;
            *touched.borrow_mut() = choose();
            if with_writes { Ok(()) } else { write(&bo, &touched.borrow()) }
        });
        let (bo, device, touched, exact) = (&bo, &device, &touched, &exact);
        rounds.side("dirty lines", move || {
            let touched = touched.borrow();
            let mut flushed = 0;
            let took = per_operation(1, || {
                if with_writes {
                    write(bo, &touched)?;
                }
                flushed = submit(device, bo)?;
                Ok(())
            })?;
            exact(flushed, &touched);
            Ok(took)
        });
        for by in by_whole() {
            rounds.side(by.name(), move || {
                per_operation(1, || {
                    if with_writes {
                        let touched = touched.borrow();
                        for line in touched.iter() {
                            whole.dirty(ByteRange::within(line * LINE_BYTES, LINE_BYTES, size)?);
                        }
                    }
                    whole.flush(by, all);
                    Ok(())
                })
            });
        }
        let times = rounds.measure(context.effort)?;
        let case = format!("1 % of {}{}", bytes(size), if with_writes { ", with the stores" } else { "" });
        for by in by_whole() {
            let target = (!with_writes).then_some(Target::AtLeast(30.0));
            found.push(times.line((NAME, &case), "dirty lines", by.name(), target));
        }
    }
    found.wrong.extend(wrong.into_inner());
    Ok(())
}
