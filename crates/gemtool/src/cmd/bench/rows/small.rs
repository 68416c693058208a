//! A write to few lines of a large BO.

use super::super::Context;
use super::super::machine::Maker;
use super::super::ordinary::Part;
use super::super::report::{Found, Target};
use super::super::updates::{Case, Guards, Peer, Timed, measure, to_lines};
use crate::failure::Failure;
use crate::render::bytes;
use gem_coherency::units::LINE_BYTES;

pub const NAME: &str = "small-updates";

/// One of this many lines is written.
const ONE_IN: u64 = 100;

/// Returns the target of a submission beside `peer`.
fn of_submission(peer: &str) -> Option<Target> {
    match peer {
        "clflush loop" => Some(Target::AtLeast(30.0)),
        "floor" => Some(Target::AtLeast(0.5)),
        _ => None,
    }
}

/// Returns the target of the stores and the submission beside `peer`.
fn with_stores(peer: &str, maker: Maker) -> Option<Target> {
    match (peer, maker) {
        ("write_back_range", Maker::Intel) => Some(Target::AtLeast(4.0)),
        ("write_back_range", Maker::Other) => Some(Target::AtLeast(2.0)),
        _ => None,
    }
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Failure> {
    let size = context.effort.pick(8 << 20, 64 << 10);
    let lines = size / LINE_BYTES;
    for (timed, suffix) in [(Timed::Submission, ""), (Timed::Stores, ", with the stores")] {
        let case = Case {
            row: NAME,
            name: format!("1 % of {}{suffix}", bytes(size)),
            part: Part::NoLlc,
            bos: 1,
            size,
            stores: &|numbers| vec![to_lines(numbers.different(lines / ONE_IN, lines), 8)],
            guards: Guards::PerBo,
            timed,
            operations: 1,
        };
        let target = |peer: &str| match timed {
            Timed::Submission => of_submission(peer),
            Timed::Stores => with_stores(peer, context.maker),
        };
        let peers = Peer::all_whole(context).chain([Peer::floor()]).map(|peer| peer.judged(target));
        measure(context, found, &case, &peers.collect::<Vec<_>>())?;
    }
    Ok(())
}
