//! Single writes: their stores and marks, without a flush: 8 bytes to a line in memory only, 64 bytes to a line in the cache.

use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency::units::LINE_BYTES;

use crate::bytes::{Bytes, Flusher};
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::ordinary::{self, Part};
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "writes";

/// Number of writes in a turn.
const WRITES: u64 = 1024;
/// The library's side.
const OURS: &str = "library";
/// The side of the stores between two locked adds, the least that begins and ends an access.
const FLOOR: &str = "floor";
/// The side of the stores alone.
const STORES: &str = "plain stores";

/// A kind of write.
struct Kind {
    case: &'static str,
    /// Size of the BO in bytes.
    size: u64,
    /// The bytes of a write.
    data: &'static [u8],
    /// The lines before the turn: written back (in the cache), or flushed (in memory only).
    before: Flusher,
    /// Each write has a guard of its own.
    has_guard: bool,
    /// The side with the target, and the target.
    judged: (&'static str, f64),
}

const KINDS: [Kind; 2] = [
    Kind {
        case: "8 bytes to a line in memory only",
        size: 8 << 20,
        data: &[1; 8],
        before: Flusher::Flush,
        has_guard: false,
        judged: (STORES, 0.85),
    },
    Kind {
        case: "64 bytes by a guard of its own",
        size: WRITES * LINE_BYTES,
        data: &[1; LINE_BYTES as usize],
        before: Flusher::WriteBack,
        has_guard: true,
        judged: (FLOOR, 0.4),
    },
];

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    KINDS.iter().try_for_each(|kind| measure(context, found, kind))
}

/// Measures writes of one kind, to different lines in a random order.
fn measure(context: &Context, found: &mut Found, kind: &Kind) -> Result<(), Error> {
    let device = ordinary::device(Part::NoLlc)?;
    let bo = &ordinary::bo(&device, kind.size)?;
    let view = Bytes::of(bo)?;
    let mut numbers = Numbers::new();
    let lines = numbers.different(context.effort.pick(WRITES, 16), view.all().lines().count());
    let mut lines = lines.into_iter().map(|line| view.line(line)).collect::<Result<Vec<_>, _>>()?;
    numbers.shuffle(&mut lines);
    let (lines, writes) = (&lines, lines.len() as u64);
    let mut rounds = Rounds::new(|| {
        bo.flush()?;
        view.dirty(view.all());
        view.flush(kind.before, view.all());
        Ok(())
    });
    rounds.side(OURS, || {
        if kind.has_guard {
            return per_operation(writes, || {
                lines.iter().try_for_each(|line| Ok(bo.write_bytes(line.offset(), kind.data).map(drop)?))
            });
        }
        let mut guard = bo.write(0, bo.size())?;
        per_operation(writes, || {
            lines.iter().try_for_each(|line| Ok(guard.write_at(line.offset(), kind.data)?))
        })
    });
    rounds.side(STORES, || {
        per_operation(writes, || {
            lines.iter().for_each(|&line| view.store(line, kind.data));
            Ok(())
        })
    });
    let counter = AtomicU64::new(0);
    if kind.has_guard {
        rounds.side(FLOOR, || {
            per_operation(writes, || {
                for &line in lines {
                    counter.fetch_add(1, Ordering::SeqCst);
                    view.store(line, kind.data);
                    counter.fetch_add(1, Ordering::SeqCst);
                }
                Ok(())
            })
        });
    }
    let times = rounds.measure(context.effort)?;
    for side in [STORES, FLOOR] {
        let target = (kind.judged.0 == side).then_some(kind.judged.1);
        found.push(times.line((NAME, kind.case), OURS, side, target));
    }
    Ok(())
}
