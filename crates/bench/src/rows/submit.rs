//! Submitting many BOs with few dirty lines each: one BO's time.
//!
//! A clean BO takes 9 ns (`frame` with an LLC) and 120 instructions (`ci/instructions`), one with four dirty lines 128 ns (Intel). A quarter is
//! four locked instructions of 4.5 ns and the write-backs (15 ns); the rest is passes over all BOs.

use super::size_text;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::report::{Found, Maker};
use crate::updates::{Case, Peer, Timed, measure, to_lines};

pub const NAME: &str = "submit";

/// Number of BOs in a submission.
const BOS: u64 = 1000;
/// The lines written in each BO.
const LINES: [u64; 4] = [3, 17, 18, 60];
/// Size of a BO of one page.
const PAGE: u64 = 4 << 10;

/// Returns the target of a submission of BOs of `size` bytes beside `peer`. A BO of one page has only 64 lines
/// to flush, which takes long with Intel's CLFLUSH alone.
fn target(size: u64, peer: &str, maker: Maker) -> Option<f64> {
    match (size, peer, maker) {
        (PAGE, "floor", _) => Some(0.2),
        (_, "floor" | "submit each", _) => None,
        (PAGE, "clflush loop", Maker::Intel) => Some(5.0),
        (PAGE, _, _) => Some(3.0),
        _ => Some(5.0),
    }
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let bos = context.effort.pick(BOS, 8);
    for size in context.effort.sizes(&[PAGE, 64 << 10]) {
        let stores = |_: &mut Numbers| (0..bos).map(|_| to_lines(LINES, 8)).collect();
        let of_bo = Case::of_bo(NAME, format!("{bos} BOs of {}", size_text(size)), size, &stores);
        let case = Case { bos, timed: Timed::Submission, operations: bos, ..of_bo };
        let peers = Peer::all_whole(context).chain([Peer::each(), Peer::floor()]);
        let peers: Vec<_> = peers.map(|peer| peer.judged(|name| target(size, name, context.maker))).collect();
        measure(context, found, &case, &peers)?;
    }
    Ok(())
}
