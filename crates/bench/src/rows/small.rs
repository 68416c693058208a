//! A write to few lines of a large BO: `submit_with`, and with the stores the writes, too.

use gem_coherency::units::LINE_BYTES;

use super::size_text;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::report::{Found, Maker};
use crate::updates::{Case, Peer, Timed, measure, to_lines};

pub const NAME: &str = "small-updates";

/// One of this many lines is written.
const ONE_IN: u64 = 100;

/// Returns the target beside `peer`. AMD's processors execute CLFLUSH as fast as CLFLUSHOPT.
fn target(timed: Timed, peer: &str, maker: Maker) -> Option<f64> {
    let least = match (timed, peer, maker) {
        (Timed::Submission, "clflush loop", Maker::Intel) => 30.0,
        (Timed::Submission, "floor", _) => 0.5,
        (Timed::Stores, "write_back_range", Maker::Intel) => 4.0,
        (Timed::Stores, "write_back_range", Maker::Other) => 2.0,
        _ => return None,
    };
    Some(least)
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let size = context.effort.pick(8 << 20, 64 << 10);
    let lines = size / LINE_BYTES;
    for (timed, suffix) in [(Timed::Submission, ""), (Timed::Stores, ", with the stores")] {
        let stores = |numbers: &mut Numbers| vec![to_lines(numbers.different(lines / ONE_IN, lines), 8)];
        let name = format!("1 % of {}{suffix}", size_text(size));
        let case = Case { timed, ..Case::of_bo(NAME, name, size, &stores) };
        let peers = Peer::all_whole(context).chain([Peer::floor()]);
        let peers: Vec<_> =
            peers.map(|peer| peer.judged(|name| target(timed, name, context.maker))).collect();
        measure(context, found, &case, &peers)?;
    }
    Ok(())
}
