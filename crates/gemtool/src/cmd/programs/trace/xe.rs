//! Traces xe: compares its answers to requests, and the flushes of new pages, with the rules' predictions.

use std::fs;

use gem_coherency::device::Device;
use gem_coherency::xe::{self, Rule};
use gemtool::kernel_trace::{FlushRow, RequestRow, TraceEvent, Tracer, XeCounts, XeFollower, pooled_pages};
use serde::Serialize;

use super::session::{self, Kept, Listener, Run};
use crate::args;
use crate::cmd::device::DeviceLine;
use crate::failure::Failure;

/// The file with the pages in TTM's pool.
const POOL: &str = "/sys/kernel/debug/ttm/page_pool";

/// The results of a trace of xe.
#[derive(Clone, Debug, Serialize)]
pub struct XeTrace {
    /// The device.
    pub device: DeviceLine,
    /// What was traced.
    #[serde(flatten)]
    pub run: Run,
    /// The rule that the predictions leave out.
    pub without: Option<Rule>,
    /// The requests, by time.
    pub requests: Vec<RequestRow>,
    /// The flushes, by time.
    pub flushes: Vec<FlushRow>,
    /// Number of predicted requests and flushes that are counted and not listed.
    pub left_out: u64,
    /// Numbers of calls, requests and flushes.
    pub counts: XeCounts,
    /// No mismatch was found.
    pub passed: bool,
}

/// Traces a command, or the device for a time.
///
/// # Errors
/// A missing requirement of tracing; a command that cannot be used; a rule that xe does not have.
pub(super) fn run(
    args: &args::Trace,
    json: bool,
    device: &Device,
    rules: xe::Device,
) -> Result<XeTrace, Failure> {
    let without = args.without.as_ref().map(|name| name.0.parse()).transpose().map_err(|unknown| {
        Failure::flag("--without", format!("{unknown} (`gemtool rules --driver xe` lists the rules)"))
    })?;
    let line = DeviceLine::of(device)?;
    let mut tracer = Tracer::of_xe()?;
    let (address, _) = session::identify(device, &mut tracer)?;
    let start_ns = session::start(&mut tracer)?;
    // After the start: pages that go back in between count twice, and the number is an upper bound.
    let pooled = fs::read_to_string(POOL).ok().and_then(|text| pooled_pages(&text));
    let mut follower = XeFollower::new(rules, without, tracer.missing(), pooled);
    follower.on(address);
    let mut listener = Answers { follower, requests: Kept::default(), flushes: Kept::default() };
    let (run, _) = session::run(args, json, &mut tracer, start_ns, &mut listener)?;
    let Answers { follower, mut requests, mut flushes } = listener;
    requests.rows.sort_by_key(|row| row.time_ns);
    flushes.rows.sort_by_key(|row| row.time_ns);
    let counts = follower.counts().clone();
    Ok(XeTrace {
        device: line,
        run,
        without,
        requests: requests.rows,
        flushes: flushes.rows,
        left_out: requests.left_out + flushes.left_out,
        passed: counts.mismatches == 0,
        counts,
    })
}

/// Compares answers and flushes.
struct Answers {
    follower: XeFollower,
    requests: Kept<RequestRow>,
    flushes: Kept<FlushRow>,
}

impl Listener for Answers {
    fn feed(&mut self, seen: &TraceEvent) {
        self.follower.feed(seen);
    }

    fn keep(&mut self) {
        for row in self.follower.requests() {
            let is_mismatch = row.verdict.is_mismatch();
            self.requests.add(row, is_mismatch);
        }
        for row in self.follower.flushes() {
            let is_mismatch = row.verdict.is_mismatch();
            self.flushes.add(row, is_mismatch);
        }
    }

    fn is_waiting(&self) -> bool {
        false
    }
}
