//! Parses claims.

use super::super::error::Error;
use super::super::shader::Touch;
use super::super::statement::Claim;
use super::super::values::words::Line;
use super::values::{count, options, pattern, range};
use super::vocabulary::Subject;
use super::{Names, number};
use gem_coherency::vocabulary::MocsClass;

/// Parses the text after `expect [not]`.
pub(super) fn claim(line: &mut Line<'_>, names: &Names) -> Result<Claim, Error> {
    let word = line.require("what is expected ('verdict', 'caching', 'gpu-reads', 'error', ...)")?;
    let claim = match line.known(word)? {
        Subject::Verdict => verdict(line, names)?,
        Subject::Caching => {
            let bo = names.bo(line)?;
            let mode = line.require("a caching mode")?;
            Claim::Caching(bo, line.known(mode)?)
        }
        Subject::Level => {
            let bo = names.bo(line)?;
            let level = line.require("a cache level")?;
            Claim::Level(bo, line.known(level)?)
        }
        Subject::Dirty => Claim::Dirty(names.bo(line)?, count(line)?),
        Subject::Stale => Claim::Stale(names.bo(line)?, count(line)?),
        Subject::Same => Claim::Same(names.bo(line)?, names.bo(line)?),
        Subject::KernelFlushes => {
            let (bo, count) = (names.bo(line)?, count(line)?);
            let mut rule = None;
            options(line, &["rule=RULE"], |line, _, value| {
                rule = Some(line.rule(value)?);
                Ok(())
            })?;
            Claim::KernelFlushes { bo, count, rule }
        }
        Subject::LinesRead => lines(line, names, Touch::Read)?,
        Subject::LinesWritten => lines(line, names, Touch::Written)?,
        Subject::LinesStale => lines(line, names, Touch::Stale)?,
        Subject::GpuReads => {
            let (bo, range) = (names.bo(line)?, range(line)?);
            let word = line.require("a pattern ('0xa5')")?;
            let pattern = pattern(line, word)?;
            let mut mocs = MocsClass::PageTable;
            options(line, &["mocs=CLASS"], |line, _, value| {
                mocs = line.known(value)?;
                Ok(())
            })?;
            Claim::GpuReads { bo, range, pattern, mocs }
        }
        Subject::DisplayReads => {
            let (bo, range) = (names.bo(line)?, range(line)?);
            let word = line.require("a pattern ('0xa5')")?;
            Claim::DisplayReads { bo, range, pattern: pattern(line, word)? }
        }
    };
    line.end()?;
    Ok(claim)
}

/// Parses `BO COMPARISON N`.
fn lines(line: &mut Line<'_>, names: &Names, touch: Touch) -> Result<Claim, Error> {
    Ok(Claim::Lines { bo: names.bo(line)?, touch, count: count(line)? })
}

/// Parses `BO VERDICT [lines=N] [rule=RULE]`.
fn verdict(line: &mut Line<'_>, names: &Names) -> Result<Claim, Error> {
    let bo = names.bo(line)?;
    let word = line.require("a verdict ('flush', 'none', ...)")?;
    let verdict = line.known(word)?;
    let (mut lines, mut rule) = (None, None);
    options(line, &["lines=N", "rule=RULE"], |line, key, value| {
        match key {
            "lines" => lines = Some(number(line, value)?),
            _ => rule = Some(line.rule(value)?),
        }
        Ok(())
    })?;
    Ok(Claim::Verdict { bo, verdict, lines, rule })
}
