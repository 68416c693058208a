//! Submitting many BOs with few dirty lines each.

use gem_coherency::device::Submission;
use gem_coherency::units::{ByteRange, LINE_BYTES};
use gem_coherency::vocabulary::{Access, MocsClass};

use super::super::Context;
use super::super::bytes::{Bytes, Flusher, loops};
use super::super::clock::per_operation;
use super::super::ordinary;
use super::super::report::{Found, Target};
use super::super::rounds::Rounds;
use super::small;
use crate::failure::Failure;
use crate::render::bytes;

pub const NAME: &str = "submit";

/// Number of BOs in a submission.
const BOS: u64 = 1000;
/// The lines written in each BO.
const LINES: [u64; 4] = [3, 17, 18, 60];

pub fn run(context: &Context, found: &mut Found) -> Result<(), Failure> {
    let count = context.effort.pick(BOS, 8);
    for size in context.effort.sizes(&[4 << 10, 64 << 10]) {
        measure(context, found, count, size)?;
    }
    Ok(())
}

/// Measures `count` BOs of `size` bytes.
fn measure(context: &Context, found: &mut Found, count: u64, size: u64) -> Result<(), Failure> {
    let device = ordinary::device()?;
    let bos = (0..count).map(|_| ordinary::bo(&device, size)).collect::<Result<Vec<_>, _>>()?;
    let views = bos.iter().map(Bytes::of).collect::<Result<Vec<_>, _>>()?;
    let all = ByteRange::within(0, size, size)?;
    let line = |line: u64| ByteRange::within(line * LINE_BYTES, LINE_BYTES, size);
    let lines = LINES.into_iter().map(line).collect::<Result<Vec<_>, _>>()?;
    let one = |bo| Submission { bo, access: Access::Read, mocs: MocsClass::PageTable };
    let batch: Vec<_> = bos.iter().map(one).collect();
    let expected = LINES.len() as u64 * LINE_BYTES;
    // Sides that bypass the library leave its dirty marks.
    let mut rounds = Rounds::new(|| {
        device.submit_with(&batch, |_| Ok(()))?;
        for bo in &bos {
            let mut guard = bo.write(0, size)?;
            for line in LINES {
                guard.write_at(line * LINE_BYTES, &[1; 8])?;
            }
            guard.finish();
        }
        Ok(())
    });
    let (batch, views, bos, lines, device) = (&batch, &views, &bos, &lines, &device);
    let wrong = std::cell::Cell::new(None);
    rounds.side("submit_with", || {
        per_operation(count, || {
            let unexpected = device.submit_with(batch, |reports| {
                Ok(reports.iter().find(|report| report.bytes != expected).copied())
            })?;
            if let Some(report) = unexpected {
                wrong.set(Some(report.bytes));
            }
            Ok(())
        })
    });
    rounds.side("submit each", move || {
        per_operation(count, || bos.iter().try_for_each(|bo| small::submit(device, bo).map(drop)))
    });
    rounds.side("4 lines, fenced", move || {
        per_operation(count, || {
            views.iter().for_each(|view| view.write_back_lines(lines));
            Ok(())
        })
    });
    let by_whole =
        || std::iter::once(Flusher::WriteBack).chain(loops(&context.support).into_iter().map(Flusher::Loop));
    for by in by_whole() {
        rounds.side(by.name(), move || {
            per_operation(count, || {
                views.iter().for_each(|view| view.flush(by, all));
                Ok(())
            })
        });
    }
    let times = rounds.measure(context.effort)?;
    let case = format!("{count} BOs of {}", bytes(size));
    let mut line = |theirs, target| found.push(times.line((NAME, &case), "submit_with", theirs, target));
    for by in by_whole() {
        line(by.name(), Some(Target::AtLeast(5.0)));
    }
    line("submit each", None);
    line("4 lines, fenced", None);
    if let Some(flushed) = wrong.get() {
        found.wrong.push(format!("{NAME}: {flushed} bytes of a BO were flushed, {expected} were touched"));
    }
    Ok(())
}
