//! Checks the expectations of a script.

use super::report::{Decided, Dispatched, KernelFlushed};
use super::shader::Touch;
use super::state::{Refused, State};
use super::statement::{Claim, Name};
use super::values::bytes::Seen;
use super::values::count::Count;
use super::{Pattern, Script, Target};
use crate::line_set::LineSet;
use gem_coherency::policy::kernel::Action;
use gem_coherency::policy::{Rule, Verdict};

/// The effects of the last statement that was not an expectation.
#[derive(Debug, Default)]
pub(super) struct Last {
    pub(super) decisions: Vec<Decided>,
    pub(super) kernel_flushes: Vec<KernelFlushed>,
    pub(super) dispatched: Option<Dispatched>,
}

/// The result of a claim: the claimed and the actual value, and whether they agree.
#[derive(Debug)]
pub(super) struct ClaimResult {
    pub(super) claimed: String,
    pub(super) seen: String,
    pub(super) is_so: bool,
}

impl ClaimResult {
    fn new(claimed: impl Into<String>, seen: impl Into<String>, is_so: bool) -> Self {
        Self { claimed: claimed.into(), seen: seen.into(), is_so }
    }

    /// Compares the bytes that were read with the pattern.
    fn of(seen: &Seen, pattern: &Pattern) -> Self {
        match seen.verdict(pattern) {
            Ok(()) => Self::new(pattern.to_string(), seen.first_bytes(), true),
            Err((expected, seen)) => Self::new(expected, seen, false),
        }
    }
}

/// Checks `claim` now.
pub(super) fn evaluate(
    script: &Script,
    target: &Target,
    state: &State<'_>,
    last: &Last,
    claim: &Claim,
) -> Result<ClaimResult, Refused> {
    match *claim {
        Claim::Verdict { bo, verdict, lines, rule } => Ok(decision(script, last, bo, verdict, lines, rule)),
        Claim::Caching(bo, mode) => Ok(match target.device().drm().caching(state.bo(bo)?.handle()) {
            Ok(seen) => ClaimResult::new(format!("caching {mode}"), format!("caching {seen}"), seen == mode),
            Err(error) => ClaimResult::new(format!("caching {mode}"), error.to_string(), false),
        }),
        Claim::Level(bo, level) => {
            let seen = state.bo(bo)?.level();
            Ok(ClaimResult::new(format!("level {level}"), format!("level {seen}"), seen == level))
        }
        Claim::Dirty(bo, count) => {
            let seen = state.bo(bo)?.dirty_lines();
            Ok(ClaimResult::new(format!("dirty lines: {count}"), seen.to_string(), count.holds(seen)))
        }
        Claim::Stale(bo, count) => {
            let seen = state.bo(bo)?.stale_lines();
            Ok(ClaimResult::new(format!("stale lines: {count}"), seen.to_string(), count.holds(seen)))
        }
        Claim::KernelFlushes { bo, count, rule } => {
            state.soft(bo)?;
            let object = state.object(bo);
            let is_meant = |flush: &&KernelFlushed| {
                (Some(flush.object) == object || flush.action == Action::Wbinvd)
                    && flush.action.is_flush()
                    && rule.is_none_or(|rule| flush.rule == rule)
            };
            let flushes: Vec<_> = last.kernel_flushes.iter().filter(is_meant).collect();
            let number = flushes.len() as u64;
            let rule = rule.map_or(String::new(), |rule| format!(" by {rule}"));
            let how: Vec<_> = flushes.iter().map(|it| format!("{} ({})", it.action, it.rule)).collect();
            let seen = if how.is_empty() { "0".to_owned() } else { format!("{number}: {}", how.join(", ")) };
            Ok(ClaimResult::new(format!("flushes by the kernel{rule}: {count}"), seen, count.holds(number)))
        }
        Claim::Lines { bo, touch, count } => {
            state.soft(bo)?;
            Ok(lines(script, last, bo, touch, count))
        }
        Claim::GpuReads { bo, range, ref pattern, mocs } => {
            let (soft, bo) = (state.soft(bo)?, state.bo(bo)?);
            let load = |offset, data: &mut [u8]| soft.gpu_read(bo.handle(), mocs, offset, data);
            let seen = Seen::load(State::bytes(bo, range)?, Some(pattern), load)?;
            Ok(ClaimResult::of(&seen, pattern))
        }
        Claim::DisplayReads { bo, range, ref pattern } => {
            let (soft, bo) = (state.soft(bo)?, state.bo(bo)?);
            let load = |offset, data: &mut [u8]| soft.display_read(bo.handle(), offset, data);
            let seen = Seen::load(State::bytes(bo, range)?, Some(pattern), load)?;
            Ok(ClaimResult::of(&seen, pattern))
        }
        Claim::Same(a, b) => {
            let (one, other) = (state.bo(a)?, state.bo(b)?);
            let files = if state.file(a) == state.file(b) { "" } else { " of two files" };
            let handles = format!("handles {} and {}{files}", one.handle(), other.handle());
            Ok(ClaimResult::new("one BO", handles, one.is_same(other)))
        }
    }
}

/// Checks whether the last statement led to this decision on a BO.
fn decision(
    script: &Script,
    last: &Last,
    bo: Name,
    verdict: Verdict,
    lines: Option<u64>,
    rule: Option<Rule>,
) -> ClaimResult {
    let name = script.name(bo);
    let mut claimed = format!("verdict {verdict}");
    if let Some(lines) = lines {
        claimed.push_str(&format!(", {lines} lines"));
    }
    if let Some(rule) = rule {
        claimed.push_str(&format!(", rule {rule}"));
    }
    let about: Vec<_> = last.decisions.iter().filter(|decided| decided.bo == name).collect();
    let seen: Vec<_> = about
        .iter()
        .map(|it| format!("verdict {}, {} lines, rule {}", it.verdict, it.lines, it.rule))
        .collect();
    let is_so = about.iter().any(|it| {
        it.verdict == verdict
            && lines.is_none_or(|lines| it.lines == lines)
            && rule.is_none_or(|rule| it.rule == rule)
    });
    let seen = match seen.as_slice() {
        [] => format!("the last statement decided nothing about '{name}'"),
        seen => seen.join("; "),
    };
    ClaimResult::new(claimed, seen, is_so)
}

/// Checks how many lines of a BO the last statement's shader accessed.
fn lines(script: &Script, last: &Last, bo: Name, touch: Touch, count: Count) -> ClaimResult {
    let name = script.name(bo);
    let claimed = format!("lines {touch}: {count}");
    let of = |dispatched: &Dispatched| {
        let mut found = LineSet::default();
        let surfaces = dispatched.surfaces.iter().filter(|one| one.bo == name);
        surfaces.for_each(|one| found.extend(touch.of(one)));
        found
    };
    let Some(found) = last.dispatched.as_ref().map(of) else {
        return ClaimResult::new(claimed, "the last statement ran no shader", false);
    };
    let number = found.count() as u64;
    let seen = if number == 0 { "0".to_owned() } else { format!("{number}: {found}") };
    ClaimResult::new(claimed, seen, count.holds(number))
}
