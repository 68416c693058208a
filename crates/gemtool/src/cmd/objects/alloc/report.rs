//! The results of `gemtool alloc`.

use std::collections::{BTreeMap, BTreeSet};

use gem_coherency::object::FlushOwner;
use gem_coherency::object::{FlushReport, Step};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, MmapMode, MocsClass};
use serde::Serialize;

use super::acquire::Acquire;
use super::traced::Traced;
use super::xe::XeObject;
use crate::args::{self, Pattern};
use crate::cmd::device::DeviceLine;

/// The request.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// The caching mode, if given.
    pub caching: Option<CachingMode>,
    /// Size of each BO in bytes.
    pub size_bytes: u64,
    /// Number of BOs.
    pub count: u64,
    /// The map mode, if given.
    pub map: Option<MmapMode>,
    /// The contents.
    pub fill: Pattern,
    /// The batch's declared access.
    pub gpu: Access,
    /// MOCS class of the GPU's accesses.
    pub mocs: MocsClass,
}

impl From<&args::Alloc> for Request {
    fn from(args: &args::Alloc) -> Self {
        let args::Alloc { caching, size, count, map, gpu, mocs, .. } = *args;
        Self { caching, size_bytes: size, count, map, fill: args.fill.clone(), gpu, mocs }
    }
}

/// The lines flushed or invalidated at a step, and the rule that decided.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StepLine {
    /// The step.
    pub step: Step,
    /// The rules' verdict.
    pub verdict: Verdict,
    /// Lines that were flushed or invalidated.
    pub lines: u64,
    /// Bytes of these lines.
    pub bytes: u64,
    /// The rule that decided.
    pub rule: Rule,
    /// The rule's reason.
    pub reason: &'static str,
    /// The rule's source.
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

/// The result of reading the contents back by one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Every byte is correct.
    Right,
    /// Offset of the first wrong byte.
    WrongAt(u64),
    /// The path is not available, with the reason.
    NotAvailable(String),
}

impl Check {
    /// Returns the check whose first wrong byte is at `mismatch`.
    pub fn of(mismatch: Option<u64>) -> Self {
        mismatch.map_or(Self::Right, Self::WrongAt)
    }

    /// Returns whether no byte was wrong.
    pub fn passed(&self) -> bool {
        match self {
            Self::Right | Self::NotAvailable(_) => true,
            Self::WrongAt(_) => false,
        }
    }
}

/// Results of reading the contents back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Contents {
    /// Through the mapping.
    pub mapping: Check,
    /// By PREAD.
    pub pread: Check,
}

/// The result of GET_CACHING.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelCaching {
    /// The caching mode.
    Mode(CachingMode),
    /// The errno.
    Refused(String),
}

/// The result of an export and import.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Exported {
    /// The import returned the same handle.
    pub same_handle: bool,
}

/// Results for one BO, without its handle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BoReport {
    /// Size in bytes, as rounded by the kernel.
    pub size_bytes: u64,
    /// The result of GET_CACHING.
    pub kernel_caching: KernelCaching,
    /// The cache level.
    pub level: CacheLevel,
    /// CPU accesses that are coherent with the GPU.
    pub coherent: Vec<Access>,
    /// The map mode.
    pub map: MmapMode,
    /// The agent that makes the CPU's stores visible to others.
    pub flushed_by: FlushOwner,
    /// The rule that decides this.
    pub flush_rule: Rule,
    /// The result of each step.
    pub steps: Vec<StepLine>,
    /// The result of reading the contents back.
    pub contents: Contents,
    /// The result of the export, if requested.
    pub export: Option<Exported>,
}

impl BoReport {
    /// Returns whether every check passed.
    pub fn passed(&self) -> bool {
        let export = self.export.as_ref().is_none_or(|export| export.same_handle);
        self.contents.mapping.passed() && self.contents.pread.passed() && export
    }
}

/// BOs with equal results.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Number of BOs.
    pub count: u64,
    /// Their handles.
    pub handles: BTreeSet<u32>,
    /// The results of each.
    #[serde(flatten)]
    pub bo: BoReport,
}

/// The effect of one rule at one step, over all BOs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The step.
    pub step: Step,
    /// The rules' verdict.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: Rule,
    /// Number of BOs.
    pub bos: u64,
    /// Lines of all these BOs.
    pub lines: u64,
    /// Bytes of these lines.
    pub bytes: u64,
}

/// Results for all BOs.
#[derive(Clone, Debug, Serialize)]
pub struct AllocReport {
    /// The device.
    pub device: DeviceLine,
    /// The request.
    pub asked: Request,
    /// The kernel's acquire of their pages, if it can be predicted.
    pub acquire: Option<Acquire>,
    /// The reason why it cannot.
    pub acquire_not_predicted: Option<&'static str>,
    /// What xe does in place of domains and flushes; absent for a device of i915.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xe: Option<XeObject>,
    /// The kernel's flushes of the first BO, if they were traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<Traced>,
    /// Every check passed.
    pub passed: bool,
    /// The BOs, grouped by equal results.
    pub groups: Vec<Group>,
    /// The effect of each rule.
    pub totals: Vec<Total>,
}

/// Collects the results of BOs.
#[derive(Debug, Default)]
pub struct Results {
    alike: BTreeMap<BoReport, (u64, BTreeSet<u32>)>,
}

impl Results {
    /// Adds one BO.
    pub fn add(&mut self, handle: u32, bo: BoReport) {
        let (count, handles) = self.alike.entry(bo).or_default();
        *count += 1;
        handles.insert(handle);
    }

    /// Returns the report on all BOs added.
    pub fn report(self, device: DeviceLine, asked: Request) -> AllocReport {
        let group = |(bo, (count, handles))| Group { count, handles, bo };
        let groups: Vec<Group> = self.alike.into_iter().map(group).collect();
        let passed = groups.iter().all(|group| group.bo.passed());
        let lines = groups.iter().flat_map(|group| group.bo.steps.iter().map(|line| (group.count, line)));
        let totals = totals(lines);
        AllocReport {
            device,
            asked,
            acquire: None,
            acquire_not_predicted: None,
            xe: None,
            traced: None,
            passed,
            groups,
            totals,
        }
    }
}

/// Results of releasing the BOs.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseReport {
    /// Number of BOs released.
    pub released: u64,
    /// The effect of each rule.
    pub totals: Vec<Total>,
}

impl ReleaseReport {
    /// Creates the report on released BOs.
    pub fn new(bos: &[BoReport]) -> Self {
        let lines = bos.iter().flat_map(|bo| &bo.steps).filter(|line| line.step == Step::Release);
        Self { released: bos.len() as u64, totals: totals(lines.map(|line| (1, line))) }
    }
}

/// Sums the effect of each rule at each step, over lines with their numbers of occurrences.
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
