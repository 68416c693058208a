//! What `gemtool alloc` found.

use std::collections::{BTreeMap, BTreeSet};

use gem_coherency::access::{FlushReport, Step};
use gem_coherency::bo::FlushOwner;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, MmapMode, MocsClass};
use serde::Serialize;

use crate::args::{self, Pattern};
use crate::cmd::device::DeviceLine;

/// What was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// The caching mode, if one was named.
    pub caching: Option<CachingMode>,
    /// Bytes of each BO.
    pub size_bytes: u64,
    /// How many BOs.
    pub count: u64,
    /// The map mode, if one was named.
    pub map: Option<MmapMode>,
    /// The contents.
    pub fill: Pattern,
    /// What the batch is said to do.
    pub gpu: Access,
    /// How the GPU gets at memory.
    pub mocs: MocsClass,
}

impl From<&args::Alloc> for Asked {
    fn from(args: &args::Alloc) -> Self {
        let args::Alloc { caching, size, count, map, gpu, mocs, .. } = *args;
        Self { caching, size_bytes: size, count, map, fill: args.fill.clone(), gpu, mocs }
    }
}

/// What happened to lines at a step, or why nothing did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StepLine {
    /// The step.
    pub step: Step,
    /// What was needed.
    pub verdict: Verdict,
    /// Lines that were flushed or invalidated.
    pub lines: u64,
    /// The same, in bytes.
    pub bytes: u64,
    /// The rule that decided.
    pub rule: Rule,
    /// Why.
    pub reason: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
}

impl From<&FlushReport> for StepLine {
    fn from(report: &FlushReport) -> Self {
        let rule = report.decision.rule;
        Self {
            step: report.step,
            verdict: report.decision.verdict,
            lines: report.lines,
            bytes: report.bytes,
            rule,
            reason: rule.reason(),
            source: rule.source(),
        }
    }
}

/// Whether contents read back right, one way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Every byte was right.
    Right,
    /// The first wrong byte is at this offset.
    WrongAt(u64),
    /// There is no such way; why.
    NotAvailable(String),
}

impl Check {
    /// The check whose first wrong byte is at `mismatch`.
    pub fn of(mismatch: Option<u64>) -> Self {
        mismatch.map_or(Self::Right, Self::WrongAt)
    }

    /// Whether nothing was wrong.
    pub fn held(&self) -> bool {
        match self {
            Self::Right | Self::NotAvailable(_) => true,
            Self::WrongAt(_) => false,
        }
    }
}

/// Where the contents were read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Contents {
    /// Through the mapping.
    pub mapping: Check,
    /// With PREAD.
    pub pread: Check,
}

/// What GET_CACHING says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelCaching {
    /// The mode.
    Mode(CachingMode),
    /// It does not say: the errno.
    Refused(String),
}

/// What came of an export.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Exported {
    /// Whether the import gave the same handle.
    pub same_handle: bool,
}

/// What came of one BO; everything but its handle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BoReport {
    /// The size that the kernel rounded to.
    pub size_bytes: u64,
    /// What GET_CACHING says.
    pub kernel_caching: KernelCaching,
    /// The cache level.
    pub level: CacheLevel,
    /// Which CPU accesses agree with the GPU.
    pub coherent: Vec<Access>,
    /// How it is mapped.
    pub map: MmapMode,
    /// Who makes the CPU's stores visible to others.
    pub flushed_by: FlushOwner,
    /// The rule that makes it so.
    pub flush_rule: Rule,
    /// What was flushed or not, step by step.
    pub steps: Vec<StepLine>,
    /// Whether the contents read back right.
    pub contents: Contents,
    /// What came of the export, if one was asked for.
    pub export: Option<Exported>,
}

impl BoReport {
    /// Whether everything that was expected held.
    pub fn held(&self) -> bool {
        let export = self.export.as_ref().is_none_or(|export| export.same_handle);
        self.contents.mapping.held() && self.contents.pread.held() && export
    }
}

/// BOs for which everything came out the same.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// How many.
    pub count: u64,
    /// The handles they had.
    pub handles: BTreeSet<u32>,
    /// What came of each.
    #[serde(flatten)]
    pub bo: BoReport,
}

/// What one rule did at one step, over all BOs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The step.
    pub step: Step,
    /// What was needed.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: Rule,
    /// For how many BOs.
    pub bos: u64,
    /// Lines, of all of them together.
    pub lines: u64,
    /// The same, in bytes.
    pub bytes: u64,
}

/// What came of all BOs.
#[derive(Clone, Debug, Serialize)]
pub struct AllocReport {
    /// The device.
    pub device: DeviceLine,
    /// What was asked for.
    pub asked: Asked,
    /// Whether everything held.
    pub held: bool,
    /// The BOs, those alike together.
    pub groups: Vec<Group>,
    /// What each rule did.
    pub totals: Vec<Total>,
}

/// Gathers BOs as they are done.
#[derive(Debug, Default)]
pub struct Gathered {
    alike: BTreeMap<BoReport, (u64, BTreeSet<u32>)>,
}

impl Gathered {
    /// Adds one BO.
    pub fn add(&mut self, handle: u32, bo: BoReport) {
        let (count, handles) = self.alike.entry(bo).or_default();
        *count += 1;
        handles.insert(handle);
    }

    /// The report on all that were added.
    pub fn report(self, device: DeviceLine, asked: Asked) -> AllocReport {
        let group = |(bo, (count, handles))| Group { count, handles, bo };
        let groups: Vec<Group> = self.alike.into_iter().map(group).collect();
        let held = groups.iter().all(|group| group.bo.held());
        let lines = groups.iter().flat_map(|group| group.bo.steps.iter().map(|line| (group.count, line)));
        let totals = totals(lines);
        AllocReport { device, asked, held, groups, totals }
    }
}

/// What giving the BOs back did.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseReport {
    /// How many were given back.
    pub released: u64,
    /// What each rule did.
    pub totals: Vec<Total>,
}

impl ReleaseReport {
    /// The report on BOs whose lives are over.
    pub fn new(bos: &[BoReport]) -> Self {
        let lines = bos.iter().flat_map(|bo| &bo.steps).filter(|line| line.step == Step::Release);
        Self { released: bos.len() as u64, totals: totals(lines.map(|line| (1, line))) }
    }
}

/// What each rule did at each step, over lines that happened so many times.
fn totals<'a>(all: impl Iterator<Item = (u64, &'a StepLine)>) -> Vec<Total> {
    let mut totals: BTreeMap<(Step, Verdict, Rule), (u64, u64, u64)> = BTreeMap::new();
    for (count, line) in all {
        let (bos, lines, bytes) = totals.entry((line.step, line.verdict, line.rule)).or_default();
        *bos += count;
        *lines += count * line.lines;
        *bytes += count * line.bytes;
    }
    let total =
        |((step, verdict, rule), (bos, lines, bytes))| Total { step, verdict, rule, bos, lines, bytes };
    totals.into_iter().map(total).collect()
}
