//! Constant-time operations of a few nanoseconds: a decision, a mark, a check whether a BO is clean.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency::platform::{Caps, by_name};
use gem_coherency::policy::pending::required_work;
use gem_coherency::policy::{DecisionTable, Path};
use gem_coherency::tracking::{LineMap, Marks, Tracked, complete};
use gem_coherency::units::{PAGE_LINES, PageLines};
use gem_coherency::vocabulary::{Access, CacheLevel, KernelVersion};

use super::size_text;
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "constant";

/// Operations of a turn.
const OPERATIONS: u64 = 16_384;
/// The side that the others are compared with.
const REFERENCE: &str = "lock add";

/// The inputs of a decision.
struct Question<'a> {
    caps: Caps,
    decisions: &'a DecisionTable,
    level: CacheLevel,
    next: Path,
    access: Access,
}

/// Returns the tables of several platforms.
fn hardware() -> Result<Vec<(Caps, DecisionTable)>, Error> {
    const PLATFORMS: [&str; 4] = ["glk", "jsl", "tgl", "mtl"];
    let decisions = |name| {
        let caps = by_name(name)?.machine(KernelVersion::new(6, 12), false).caps;
        Ok((caps, DecisionTable::of(caps)))
    };
    Ok(PLATFORMS.into_iter().map(decisions).collect::<Result<_, gem_coherency::Error>>()?)
}

/// Returns questions for several platforms, in an order that a branch predictor does not learn.
fn questions(hardware: &[(Caps, DecisionTable)]) -> Vec<Question<'_>> {
    const LEVELS: [CacheLevel; 2] = [CacheLevel::None, CacheLevel::Llc];
    let mut numbers = Numbers::new();
    let mut any = |len: usize| numbers.below(len as u64) as usize;
    let question = || {
        let (caps, decisions) = hardware.get(any(hardware.len()))?;
        let level = *LEVELS.get(any(LEVELS.len()))?;
        let next = *Path::ALL.get(any(Path::ALL.len()))?;
        let access = *Access::ALL.get(any(Access::ALL.len()))?;
        Some(Question { caps: *caps, decisions, level, next, access })
    };
    std::iter::repeat_with(question).take(1024).flatten().collect()
}

/// Creates rounds that include the reference.
fn rounds<'a>(counter: &'a AtomicU64, prepare: impl FnMut() -> Result<(), Error> + 'a) -> Rounds<'a> {
    let mut rounds = Rounds::new(prepare);
    rounds.side(REFERENCE, move || {
        per_operation(OPERATIONS, || {
            for _ in 0..OPERATIONS {
                black_box(counter).fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        })
    });
    rounds
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    decisions(context, found)?;
    marks(context, found)?;
    for size in [4 << 10, 1 << 20, 1 << 30] {
        clean(context, found, size)?;
    }
    Ok(())
}

fn decisions(context: &Context, found: &mut Found) -> Result<(), Error> {
    let hardware = hardware()?;
    let questions = questions(&hardware);
    let repeat = OPERATIONS / questions.len() as u64;
    let counter = AtomicU64::new(0);
    let mut rounds = rounds(&counter, || Ok(()));
    rounds.side("looked up", || {
        per_operation(OPERATIONS, || {
            for _ in 0..repeat {
                for &Question { decisions, level, next, access, .. } in black_box(&questions) {
                    black_box(decisions.get(level, next, access).required.dirty);
                }
            }
            Ok(())
        })
    });
    rounds.side("by the rules", || {
        per_operation(OPERATIONS, || {
            for _ in 0..repeat {
                for &Question { caps, level, next, access, .. } in black_box(&questions) {
                    black_box(required_work(caps, level, next, access).dirty);
                }
            }
            Ok(())
        })
    });
    let times = rounds.measure(context.effort)?;
    found.push(times.line((NAME, "decision"), "looked up", REFERENCE, Some(1.5)));
    found.push(times.line((NAME, "decision"), "looked up", "by the rules", None));
    Ok(())
}

fn marks(context: &Context, found: &mut Found) -> Result<(), Error> {
    let tracked = Tracked::new(8 << 20, CacheLevel::None)?;
    let (dirty, map) = (tracked.dirty(), tracked.dirty().shared());
    let end = map.all().count();
    let mut numbers = Numbers::new();
    let lines: Vec<_> = (0..OPERATIONS).map(|_| numbers.below(end)).collect();
    let counter = AtomicU64::new(0);
    let mut rounds = rounds(&counter, || {
        let mut flush = tracked.begin_flush(map.all())?;
        flush.take_dirty(Marks::Own, |_| {});
        let _ = complete([flush]);
        Ok(())
    });
    for (side, marks) in [("only writer", Marks::Own), ("any writer", Marks::Shared)] {
        let lines = &lines;
        rounds.side(side, move || {
            per_operation(OPERATIONS, || {
                for line in lines {
                    dirty.mark_page_in(marks, PageLines::new(line / PAGE_LINES, 1 << (line % PAGE_LINES)));
                }
                Ok(())
            })
        });
    }
    let times = rounds.measure(context.effort)?;
    let case = "mark of a 64-byte write";
    found.push(times.line((NAME, case), "only writer", REFERENCE, Some(1.5)));
    found.push(times.line((NAME, case), "any writer", REFERENCE, Some(0.5)));
    Ok(())
}

fn clean(context: &Context, found: &mut Found, size: u64) -> Result<(), Error> {
    let map = LineMap::new(size)?;
    let counter = AtomicU64::new(0);
    let mut rounds = rounds(&counter, || Ok(()));
    rounds.side("LineMap::is_clean", || {
        per_operation(OPERATIONS, || {
            for _ in 0..OPERATIONS {
                black_box(black_box(&map).is_clean());
            }
            Ok(())
        })
    });
    let times = rounds.measure(context.effort)?;
    let case = format!("clean check of {}", size_text(size));
    found.push(times.line((NAME, &case), "LineMap::is_clean", REFERENCE, Some(1.0)));
    Ok(())
}
