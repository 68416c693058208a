//! What a driver must do for memory that one agent wrote before another accesses it.

use gem_coherency::policy::driver::{Path, Row, table};
use gem_coherency::policy::{Decision, Rule, Verdict, needs_flush, needs_invalidate};
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, KernelVersion, MmapMode, MocsClass};
use serde::Serialize;

use crate::args;
use crate::cmd::machine::Ruled;
use crate::failure::Failure;

/// Which of the two questions a decision answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// What has to leave the writer's caches.
    Flush,
    /// What the reader has to drop from its cache.
    Invalidate,
}

impl Question {
    /// The function of the rules that answers it.
    pub const fn function(self) -> &'static str {
        match self {
            Self::Flush => "policy::driver::needs_flush",
            Self::Invalidate => "policy::driver::needs_invalidate",
        }
    }
}

/// One decision: one line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct DriverRow {
    /// The platform's name.
    pub platform: &'static str,
    /// The kernel.
    pub kernel: KernelVersion,
    /// The object's level.
    pub level: CacheLevel,
    /// How the CPU maps the object; the writer's mapping if both are the CPU.
    pub map: Option<MmapMode>,
    /// Who wrote.
    pub writer: Agent,
    /// Who accesses it next.
    pub reader: Agent,
    /// How the GPU gets at memory; the writer's way if both are the GPU.
    pub mocs: Option<MocsClass>,
    /// The reader's mapping, if both are the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_map: Option<MmapMode>,
    /// The reader's way, if both are the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_mocs: Option<MocsClass>,
    /// What the next access does.
    pub access: Access,
    /// The question.
    pub question: Question,
    /// The answer.
    pub verdict: Verdict,
    /// The rule that gives it.
    pub rule: Rule,
    /// Why.
    pub reason: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// The writer and the way it takes, for tables.
    #[serde(skip)]
    pub from: Path,
    /// The reader and the way it takes, for tables.
    #[serde(skip)]
    pub to: Path,
}

/// The answers to one pair of accesses.
#[derive(Clone, Debug, Serialize)]
pub struct DriverAnswer {
    /// Flush, and invalidate.
    pub decisions: Vec<DriverRow>,
}

impl DriverRow {
    /// The line of `row` that answers `question`.
    fn new(ruled: &Ruled, row: &Row, question: Question) -> Self {
        let Decision { verdict, rule } = match question {
            Question::Flush => row.flush,
            Question::Invalidate => row.invalidate,
        };
        Self {
            platform: ruled.machine.platform.name,
            kernel: ruled.machine.kernel,
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

/// Every question with its answer.
pub fn rows(ruled: &Ruled) -> impl Iterator<Item = DriverRow> + '_ {
    table(ruled.machine.caps).flat_map(move |row| {
        [Question::Flush, Question::Invalidate].map(|question| DriverRow::new(ruled, &row, question))
    })
}

/// The one pair of accesses that was asked for.
///
/// # Errors
/// What the arguments lack.
pub fn one(ruled: &Ruled, args: &args::Explain) -> Result<DriverAnswer, Failure> {
    let others = [
        ("--event", args.event.is_some()),
        ("--state", args.state.is_some()),
        ("--object", args.object.is_some()),
    ];
    super::refuse(&others, "asks about the kernel: use it with --who kernel")?;
    let needed = |flag| Failure::flag(flag, "needed with --who driver");
    let level = args.level.ok_or_else(|| needed("--level"))?;
    let writer = path(args.writer.ok_or_else(|| needed("--writer"))?, args);
    let next = path(args.reader.ok_or_else(|| needed("--reader"))?, args);
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
    let answer = |question| DriverRow::new(ruled, &row, question);
    Ok(DriverAnswer { decisions: vec![answer(Question::Flush), answer(Question::Invalidate)] })
}

/// The way that the arguments give `agent`.
fn path(agent: Agent, args: &args::Explain) -> Path {
    match agent {
        Agent::Cpu => Path::Cpu(args.map.unwrap_or(MmapMode::Wb)),
        Agent::Gpu => Path::Gpu(args.mocs.unwrap_or(MocsClass::PageTable)),
        Agent::Display => Path::Display,
    }
}

/// The CPU's mapping.
fn map(path: Path) -> Option<MmapMode> {
    match path {
        Path::Cpu(mode) => Some(mode),
        Path::Gpu(_) | Path::Display => None,
    }
}

/// The GPU's way.
fn mocs(path: Path) -> Option<MocsClass> {
    match path {
        Path::Gpu(class) => Some(class),
        Path::Cpu(_) | Path::Display => None,
    }
}
