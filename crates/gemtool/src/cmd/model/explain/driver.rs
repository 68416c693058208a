//! Decides what a driver must do for memory that one agent wrote before another accesses it.

use gem_coherency::platform::Basis;
use gem_coherency::policy::driver::{Path, Row, table};
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
    /// The flush, then the invalidate; then, if the GPU writes, the flush of a submission.
    pub decisions: Vec<DriverRow>,
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
    let (Some(level), Some(writer), Some(reader)) = (args.level, args.writer, args.reader) else {
        let given = [
            ("--level", args.level.is_some()),
            ("--writer", args.writer.is_some()),
            ("--reader", args.reader.is_some()),
        ];
        let mut missing = given.into_iter().filter(|(_, given)| !given).map(|(flag, _)| flag);
        let first = missing.next().unwrap_or_default();
        let others: Vec<_> = missing.collect();
        let others =
            if others.is_empty() { String::new() } else { format!("; missing, too: {}", others.join(", ")) };
        return Err(Failure::flag(first, format!("needed with --who driver{others}")));
    };
    let (writer, next) = (path(writer, args), path(reader, args));
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
    Ok(DriverDecisions { decisions: decisions.collect() })
}

/// Returns the path that the arguments give for `agent`.
fn path(agent: Agent, args: &args::Explain) -> Path {
    match agent {
        Agent::Cpu => Path::Cpu(args.map.unwrap_or(MmapMode::Wb)),
        Agent::Gpu => Path::Gpu(args.mocs.unwrap_or(MocsClass::PageTable)),
        Agent::Display => Path::Display,
    }
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
