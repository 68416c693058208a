//! Decides what a driver must do for memory that one agent wrote before another accesses it.

use gem_coherency::platform::{Basis, Caps};
use gem_coherency::policy::driver::{CpuMemory, Drain, Path, Row, cpu_memory, table};
use gem_coherency::policy::pending::pending_flush;
use gem_coherency::policy::{Decision, Rule, Verdict, needs_flush, needs_invalidate};
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, KernelVersion, MmapMode, MocsClass};
use serde::Serialize;

use crate::args;
use crate::cmd::model::machine::Ruled;
use crate::failure::Failure;

/// The question that a decision answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// The data that must leave the writer's caches.
    Flush,
    /// The lines that the reader must drop from its cache.
    Invalidate,
    /// The data that a submission flushes; a GPU that writes is assumed to read, too.
    Submission,
}

impl Question {
    /// Returns the policy function that answers it.
    pub const fn function(self) -> &'static str {
        match self {
            Self::Flush => "policy::driver::needs_flush",
            Self::Invalidate => "policy::driver::needs_invalidate",
            Self::Submission => "policy::pending::pending_flush",
        }
    }
}

/// One decision: one row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct DriverRow {
    /// The platform's name.
    pub platform: &'static str,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the facts about the kernel are known.
    pub basis: Basis,
    /// The object's level.
    pub level: CacheLevel,
    /// The CPU's map mode; the writer's if both agents are the CPU.
    pub map: Option<MmapMode>,
    /// The writer.
    pub writer: Agent,
    /// The agent of the next access.
    pub reader: Agent,
    /// The GPU's MOCS class; the writer's if both agents are the GPU.
    pub mocs: Option<MocsClass>,
    /// The reader's map mode, if both agents are the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_map: Option<MmapMode>,
    /// The reader's MOCS class, if both agents are the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_mocs: Option<MocsClass>,
    /// The next access.
    pub access: Access,
    /// The question.
    pub question: Question,
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decides.
    pub rule: Rule,
    /// The rule's reason.
    pub reason: &'static str,
    /// The rule's source.
    pub source: &'static str,
    /// The writer and its path, for tables.
    #[serde(skip)]
    pub from: Path,
    /// The reader and its path, for tables.
    #[serde(skip)]
    pub to: Path,
}

/// The decisions on one pair of accesses.
#[derive(Clone, Debug, Serialize)]
pub struct DriverDecisions {
    /// The PAT index that userspace chose, if it was asked for in place of the level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_pat: Option<u8>,
    /// The flush, then the invalidate; then, if the GPU writes, the flush of a submission.
    pub decisions: Vec<DriverRow>,
    /// How the writer's stores are drained, if they must be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drained_by: Option<DrainedBy>,
    /// A faster way to read, if the CPU reads past its caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_read: Option<Faster>,
}

/// A way to read that is faster than the CPU's loads past its caches, none of which is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Faster {
    /// A WB mapping, whose lines the writes do not make stale.
    MapWb,
    /// A WB mapping, whose lines are invalidated before the reads.
    MapWbAndInvalidate,
    /// A copy by the GPU to a BO that the CPU reads through its caches.
    Copy,
}

/// The way to drain stores that bypass the CPU's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrainedBy {
    /// A fence.
    Fence,
    /// A fence, and a load through the mapping.
    FenceAndLoad,
}

impl DriverRow {
    /// Creates the row that answers `question` for `row`.
    fn new(ruled: &Ruled, row: &Row, question: Question) -> Self {
        let Row { level, writer, next, access, .. } = *row;
        let Decision { verdict, rule } = match question {
            Question::Flush => row.flush,
            Question::Invalidate => row.invalidate,
            Question::Submission => pending_flush(ruled.machine.caps, level, writer, next, access),
        };
        Self {
            platform: ruled.machine.platform.name,
            kernel: ruled.machine.kernel,
            basis: Basis::of(ruled.machine.kernel),
            level: row.level,
            map: map(row.writer).or(map(row.next)),
            writer: row.writer.agent(),
            reader: row.next.agent(),
            mocs: mocs(row.writer).or(mocs(row.next)),
            reader_map: map(row.next).filter(|_| map(row.writer).is_some()),
            reader_mocs: mocs(row.next).filter(|_| mocs(row.writer).is_some()),
            access: row.access,
            question,
            verdict,
            rule,
            reason: rule.reason(),
            source: rule.source(),
            from: row.writer,
            to: row.next,
        }
    }
}

/// Returns every question with its answer.
pub fn rows(ruled: &Ruled) -> impl Iterator<Item = DriverRow> + '_ {
    table(ruled.machine.caps).flat_map(move |row| {
        [Question::Flush, Question::Invalidate].map(|question| DriverRow::new(ruled, &row, question))
    })
}

/// Returns the decisions on the requested pair of accesses.
///
/// # Errors
/// An argument that is missing or has no meaning here.
pub fn one(ruled: &Ruled, args: &args::Explain) -> Result<DriverDecisions, Failure> {
    let others = [
        ("--event", args.event.is_some()),
        ("--state", args.state.is_some()),
        ("--object", args.object.is_some()),
    ];
    super::refuse(&others, "applies to the kernel: use it with --who kernel")?;
    let (Some(writer), Some(reader)) = (args.writer, args.reader) else { return Err(super::missing(args)) };
    let user_pat = super::pat(ruled, args)?;
    let Some(level) = user_pat.map(|(_, level)| level).or(args.level) else {
        return Err(super::missing(args));
    };
    let (writer, next) = paths(writer, reader, args)?;
    let access = args.access.unwrap_or(Access::Read);
    let caps = ruled.machine.caps;
    let row = Row {
        level,
        writer,
        next,
        access,
        flush: needs_flush(caps, level, writer, next, access),
        invalidate: needs_invalidate(caps, level, writer, next, access),
    };
    let mut questions = vec![Question::Flush, Question::Invalidate];
    if matches!((next, access), (Path::Gpu(_), Access::Write)) {
        questions.push(Question::Submission);
    }
    let decisions = questions.into_iter().map(|question| DriverRow::new(ruled, &row, question));
    Ok(DriverDecisions {
        user_pat: user_pat.map(|(index, _)| index),
        decisions: decisions.collect(),
        drained_by: drained_by(caps, &row),
        slow_read: slow_read(caps, &row),
    })
}

/// Returns the paths of the writer and of the next access.
///
/// # Errors
/// A path that neither of them can have.
fn paths(writer: Agent, reader: Agent, args: &args::Explain) -> Result<(Path, Path), Failure> {
    let both = |agent| writer == agent && reader == agent;
    super::refuse(
        &[("--reader-map", args.reader_map.is_some() && !both(Agent::Cpu))],
        "needs --writer cpu and --reader cpu; the map mode of only one of them is --map",
    )?;
    super::refuse(
        &[("--reader-mocs", args.reader_mocs.is_some() && !both(Agent::Gpu))],
        "needs --writer gpu and --reader gpu; the MOCS class of only one of them is --mocs",
    )?;
    let (map, mocs) = (args.map.unwrap_or(MmapMode::Wb), args.mocs.unwrap_or(MocsClass::PageTable));
    let next = path(reader, args.reader_map.unwrap_or(map), args.reader_mocs.unwrap_or(mocs));
    Ok((path(writer, map, mocs), next))
}

/// Returns the path of `agent`.
fn path(agent: Agent, map: MmapMode, mocs: MocsClass) -> Path {
    match agent {
        Agent::Cpu => Path::Cpu(map),
        Agent::Gpu => Path::Gpu(mocs),
        Agent::Display => Path::Display,
    }
}

/// Returns how the stores of a row are drained, if they must be.
fn drained_by(caps: Caps, row: &Row) -> Option<DrainedBy> {
    let (Path::Cpu(mode), Verdict::Drain) = (row.writer, row.flush.verdict) else { return None };
    match Drain::of(caps, cpu_memory(row.level, mode)) {
        Drain::Nothing => None,
        Drain::Fence => Some(DrainedBy::Fence),
        Drain::ReadBack => Some(DrainedBy::FenceAndLoad),
    }
}

/// Returns a faster way to read, if the next access of a row is a load of the CPU past its caches.
fn slow_read(caps: Caps, row: &Row) -> Option<Faster> {
    let (Path::Cpu(mode), Access::Read) = (row.next, row.access) else { return None };
    if cpu_memory(row.level, mode) == CpuMemory::Cached || row.flush.verdict == Verdict::Refused {
        return None;
    }
    Some(match needs_invalidate(caps, row.level, row.writer, Path::Cpu(MmapMode::Wb), Access::Read).verdict {
        Verdict::NotNeeded => Faster::MapWb,
        Verdict::Invalidate | Verdict::Flush | Verdict::Drain => Faster::MapWbAndInvalidate,
        // A discrete device has no WB mapping of its memory.
        Verdict::Refused => Faster::Copy,
    })
}

/// Returns the map mode of a CPU path.
fn map(path: Path) -> Option<MmapMode> {
    match path {
        Path::Cpu(mode) => Some(mode),
        Path::Gpu(_) | Path::Display => None,
    }
}

/// Returns the MOCS class of a GPU path.
fn mocs(path: Path) -> Option<MocsClass> {
    match path {
        Path::Gpu(class) => Some(class),
        Path::Cpu(_) | Path::Display => None,
    }
}
