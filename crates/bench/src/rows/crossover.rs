//! The size from which an upload by non-temporal stores (`Upload::Once`) is faster than one through the cache (`Upload::Kept`), to memory
//! only (*cold*) or to a cached destination (*warm*).

use gem_coherency::object::{NON_TEMPORAL_FROM_BYTES, Upload};

use super::size_text;
use crate::bytes::{Bytes, Flusher};
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::ordinary::{self, Part};
use crate::report::Found;
use crate::rounds::{Rounds, Times};

pub const NAME: &str = "crossover";

/// Sizes of an upload in bytes.
const SIZES: [u64; 11] =
    [64, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
const BATCH_BYTES: u64 = 128 << 10;
const BATCH: u64 = 256;

/// The place of the destination's lines before the upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// In memory only.
    Cold,
    /// In the cache, clean.
    Warm,
}

impl Before {
    const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
        }
    }
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    for before in [Before::Cold, Before::Warm] {
        let mut from = None;
        for size in context.effort.sizes(&SIZES) {
            let times = measure(context, before, size)?;
            let case = format!("{}, {}", size_text(size), before.name());
            let line = times.line((NAME, &case), "non-temporal", "through", None);
            let pays = line.as_ref().is_some_and(|line| line.ratio.median >= 1.0);
            from = if pays { from.or(Some(size)) } else { None };
            found.push(line);
        }
        let from = from.map_or("no size measured".to_owned(), size_text);
        found.notes.push(format!(
            "{NAME}, {} destination: non-temporal stores take less time from {from} on; the library uses them from {} on",
            before.name(),
            size_text(NON_TEMPORAL_FROM_BYTES)
        ));
    }
    Ok(())
}

fn measure(context: &Context, before: Before, size: u64) -> Result<Times, Error> {
    let device = ordinary::device(Part::NoLlc)?;
    let count = (BATCH_BYTES / size).clamp(1, BATCH);
    let bo = ordinary::bo(&device, size * count)?;
    let view = Bytes::of(&bo)?;
    let data = vec![0xa5; size as usize];
    let mut rounds = Rounds::new(|| {
        view.dirty(view.all());
        match before {
            Before::Cold => view.flush(Flusher::Flush, view.all()),
            Before::Warm => view.flush(Flusher::WriteBack, view.all()),
        }
        Ok(())
    });
    for (name, hint) in [("non-temporal", Upload::Once), ("through", Upload::Kept)] {
        let (bo, data) = (&bo, &data);
        rounds.side(name, move || {
            per_operation(count, || {
                for index in 0..count {
                    bo.upload(index * size, data, hint)?;
                }
                Ok(())
            })
        });
    }
    rounds.measure(context.effort)
}
