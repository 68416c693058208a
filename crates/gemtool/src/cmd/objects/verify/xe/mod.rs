//! `gemtool verify` on a device of xe: each object by each PAT index.
//!
//! The kernel refuses what would need a flush of the CPU's cache. Each combination is asked of it, and its answer compared with the rules';
//! what it binds is measured by the CPU's mapping and by the copy engine.

mod copier;
mod measured;
pub mod report;

use std::cell::RefCell;
use std::collections::BTreeSet;

use gem_coherency::device::Device;
use gem_coherency::units::{LINE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::{Access, Agent, CachingMode};
use gem_coherency::xe::{self, Bind, Memory, Verdict, When};
use gem_coherency_exercise::{Error, Result};

use super::expect::Chance;
use super::measure::UNFLUSHED_LINES;
use super::plan::Skip;
use super::report::{Check, Kind, Refused, Unflushed, Wrong};
use super::shuffle::{self, Random, Round, apply};
use crate::args::{self, Via};
use crate::cmd::device::DeviceLine;
use crate::cmd::progress::bar;
use crate::failure::Failure;
use copier::Copier;
use measured::{Flushing, Measured};
use report::{AccessRow, Answer, Item, XeRow, XeVerifyReport};

/// The paths of the GPU that are measured.
const GPU: &[Via] = &[Via::GpuBlit, Via::GpuStore];

/// Runs the measurements.
///
/// # Errors
/// The errors of the device. A measurement that it refuses is listed in the report.
pub fn run(
    args: &args::Verify,
    device: &Device,
    rules: &xe::Device,
    progress: bool,
) -> Result<XeVerifyReport, Failure> {
    let line = DeviceLine::of(device)?;
    let lines = args.lines.next_multiple_of(PAGE_LINES);
    let (items, mut skipped) = items(rules, &args.caching, lines * LINE_BYTES);
    let indices = indices(rules, &args.pat);
    let objects = items.iter().filter_map(|item| rules.create(&item.create).ok());
    let cpu: Vec<_> = objects.map(|object| Measured::cpu_path(device, &object)).collect();
    skipped.extend(without(args, &cpu)?);
    let compressed: Vec<_> = indices.iter().copied().filter(|&index| compresses(rules, index)).collect();
    if !compressed.is_empty() {
        let why = "the GPU's accesses compress, and the CPU cannot read what they write".to_owned();
        skipped.push(Skip { what: format!("bytes by PAT {}", list(&compressed)), why });
    }
    let largest = items.iter().map(|item| item.unused().create.size).max();
    let Some(largest) = largest else { return Err(nothing(&skipped)) };
    let copier = Copier::new(device, largest).map_err(Failure::step("alloc"))?;
    let counts = shuffle::counts(lines, args.quick);
    let kept = RefCell::default();
    let measuring = Measuring { copier: &copier, rules, args, lines, counts: counts.clone(), kept };
    let combinations: Vec<_> = items.iter().flat_map(|item| item.with(&indices)).collect();
    let bar = bar(combinations.len() as u64, "{bar:40} {pos}/{len} combinations, {eta} left", progress);
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for (item, pat_index) in combinations {
        match measuring.row(item, pat_index) {
            Ok(row) => rows.push(row),
            Err(error) => {
                let index = pat_index.map_or(String::new(), |index| format!(", PAT index {index}"));
                refused.push(Refused { what: format!("{item}{index}"), error: error.to_string() });
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(XeVerifyReport::new(line, (args.seed, lines, counts), args.forget, skipped, refused, rows))
}

/// Returns the objects of the caching modes, and those that creation refuses; and the modes that the device lacks.
fn items(rules: &xe::Device, requested: &[CachingMode], size: u64) -> (Vec<Item>, Vec<Skip>) {
    let modes = if requested.is_empty() { CachingMode::ALL } else { requested };
    let (mut items, mut skipped) = (Vec::<Item>::new(), Vec::new());
    let mut add = |item: Item| {
        if !items.contains(&item) {
            items.push(item);
        }
    };
    for &mode in modes {
        let Some(create) = rules.choose_mode(mode, size).and_then(|choice| choice.create) else {
            let why = xe::Rule::NoDisplay.reason().to_owned();
            skipped.push(Skip { what: format!("caching {mode}"), why });
            continue;
        };
        add(Item::new(create));
        // On a discrete device the mode is of local memory.
        add(Item::new(xe::Create { placement: xe::SYSTEM, ..create }));
        // What the display shows, and what is in local memory, is not write-back.
        add(Item::new(xe::Create { cpu_caching: xe::CpuCaching::Wb.number(), ..create }));
    }
    (items, skipped)
}

/// Returns the PAT indices to try: those requested, or all of the table, reserved ones, and one past it.
fn indices(rules: &xe::Device, requested: &[u16]) -> Vec<u16> {
    let all = 0..=rules.pat.entries.len() as u16;
    match requested {
        [] => all.collect(),
        some => some.iter().copied().collect::<BTreeSet<_>>().into_iter().collect(),
    }
}

/// Returns numbers in rising order as a list with ranges.
pub fn list(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|one, two| one + 1 == *two);
    let texts = runs.map(|run| match run {
        [first, .., last] if run.len() > 2 => format!("{first} to {last}"),
        few => few.iter().map(u16::to_string).collect::<Vec<_>>().join(", "),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Returns whether the GPU's accesses by an index compress.
fn compresses(rules: &xe::Device, index: u16) -> bool {
    rules.pat.entry(index).is_ok_and(|entry| entry.compressed)
}

/// Returns the reason why no object that is measured is accessed by the path; `None` if one is, or may be.
fn missing(via: Via, access: Access, cpu: &[Via]) -> Option<&'static str> {
    match via {
        Via::CpuGtt => Some("xe maps nothing through the aperture"),
        Via::Transfer => Some("xe has no PREAD and PWRITE"),
        Via::GpuShader => Some("under xe the copy engine alone is measured"),
        Via::GpuStore if access == Access::Read => Some("it only writes"),
        Via::GpuBlit | Via::GpuStore => None,
        Via::CpuWb | Via::CpuWc | Via::CpuFixed if cpu.contains(&via) => None,
        Via::CpuWb | Via::CpuWc | Via::CpuFixed => Some("no object of these caching modes is mapped so"),
    }
}

/// Returns the requested paths that are not measured, and that of shaders.
///
/// # Errors
/// [`Failure::Environment`] if a request leaves no path to measure.
fn without(args: &args::Verify, cpu: &[Via]) -> Result<Vec<Skip>, Failure> {
    let mut skipped = Vec::new();
    for (requested, access) in
        [(&args.over, Access::Write), (&args.write, Access::Write), (&args.read, Access::Read)]
    {
        let lacks = |&via: &Via| Some((via, missing(via, access, cpu)?));
        let lacking: Vec<_> = requested.iter().filter_map(lacks).collect();
        let is_all = !requested.is_empty() && lacking.len() == requested.len();
        let skip = |(via, why): (Via, &str)| Skip {
            what: format!("{} ({access})", via.name()),
            why: why.to_owned(),
        };
        skipped.extend(lacking.into_iter().map(skip));
        if is_all {
            return Err(nothing(&skipped));
        }
    }
    if [&args.over, &args.write, &args.read].iter().all(|requested| requested.is_empty()) {
        let why = missing(Via::GpuShader, Access::Read, cpu).unwrap_or_default().to_owned();
        skipped.push(Skip { what: Via::GpuShader.name().to_owned(), why });
    }
    Ok(skipped)
}

/// Returns the failure for a request that leaves nothing to measure.
fn nothing(skipped: &[Skip]) -> Failure {
    let why: Vec<_> = skipped.iter().map(|skip| format!("{}: {}", skip.what, skip.why)).collect();
    Failure::Environment(format!("nothing to measure: {}", why.join("; ")))
}

/// The parameters of all measurements.
#[derive(Debug)]
struct Measuring<'a> {
    copier: &'a Copier,
    rules: &'a xe::Device,
    args: &'a args::Verify,
    /// Number of lines to store to, of each object.
    lines: u64,
    /// Number of lines to store to, for each round.
    counts: Vec<u64>,
    /// The objects that were new, so that no other gets their pages.
    kept: RefCell<Vec<Measured<'a>>>,
}

impl<'a> Measuring<'a> {
    /// Asks the kernel for the combination, and measures it if there is such a mapping.
    fn row(&self, item: Item, pat_index: Option<u16>) -> Result<XeRow> {
        let created = self.rules.create(&item.create);
        let foreseen = match (&created, pat_index) {
            (Err(refusal), _) => Some(*refusal),
            (Ok(_), None) => None,
            (Ok(object), Some(index)) => {
                self.rules.bind(&[Bind::map(object, 0, index)], false).err().map(|(_, refusal)| refusal)
            }
        };
        let seen = Measured::ask(self.copier, &item, pat_index)?;
        let answer = Answer::new(foreseen, seen);
        let accesses = match (created, pat_index) {
            (Ok(object), Some(index)) if answer.is_success() && !compresses(self.rules, index) => {
                self.accesses(&item, &object, index)?
            }
            _ => Vec::new(),
        };
        let coherency =
            pat_index.and_then(|index| self.rules.pat.entry(index).ok()).map(|entry| entry.coherency);
        Ok(XeRow { object: item, pat_index, coherency, answer, accesses })
    }

    /// Measures every combination of paths.
    fn accesses(&self, item: &Item, object: &xe::Object, index: u16) -> Result<Vec<AccessRow>> {
        let cpu = Measured::cpu_path(self.copier.device(), object);
        let chosen = |requested: &[Via], access| -> Vec<Via> {
            let all = [cpu].into_iter().chain(GPU.iter().copied());
            let fits = |via: &Via| *via != Via::GpuStore || access == Access::Write;
            all.filter(fits).filter(|via| requested.is_empty() || requested.contains(via)).collect()
        };
        let overs = chosen(&self.args.over, Access::Write);
        let writes = chosen(&self.args.write, Access::Write);
        let reads = chosen(&self.args.read, Access::Read);
        let (new, unused) = (|| Measured::new(self.copier, item, index), item.unused());
        let mut rows = Vec::new();
        if self.args.over.is_empty() && self.args.write.is_empty() {
            for &read in &reads {
                rows.push(self.fresh(&unused, object, index, read)?);
            }
        }
        for (number, &write) in writes.iter().enumerate() {
            for (third, &read) in reads.iter().enumerate() {
                for (other, &over) in overs.iter().enumerate() {
                    if !self.args.quick || (number + third) % overs.len() == other {
                        rows.push(self.hand_over(&new, (object, index), [over, write, read])?);
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Measures the first read of a new object, whose pages had other bytes before.
    fn fresh(&self, item: &Item, object: &xe::Object, index: u16, read: Via) -> Result<AccessRow> {
        let seen = |flushing| {
            Measured::leave_bytes(self.copier, item)?;
            let object = Measured::new(self.copier, item, index)?;
            let seen = object.read(read, flushing)?;
            self.kept.borrow_mut().push(object);
            Ok::<_, Error>(Wrong::find(&seen, &vec![0; seen.len()], None, 0))
        };
        let with_library = Check::of(seen(Flushing::Library)?);
        let without_flushes = Unflushed { chance: Chance::Never, shown: seen(Flushing::None)? };
        Ok(AccessRow {
            kind: Kind::Fresh,
            over: None,
            write: None,
            read,
            // The GPU clears local memory.
            decision: (!item.is_local()).then(|| self.rules.new_pages(object).into()),
            with_library,
            without_flushes,
        })
    }

    /// Measures a read after two writes.
    fn hand_over(
        &self,
        new: &dyn Fn() -> Result<Measured<'a>>,
        (object, index): (&xe::Object, u16),
        [over, write, read]: [Via; 3],
    ) -> Result<AccessRow> {
        let agent = |via| if GPU.contains(&via) { Agent::Gpu } else { Agent::Cpu };
        let memory = Memory::Object(object);
        let decision = self.rules.needs_flush(memory, index, agent(write), agent(read), When::AfterFence);
        let shown = self.once(&new()?, [over, write, read])?;
        let forgotten = match (self.args.forget, decision.verdict) {
            (Some(args::Forget::Drain), Verdict::Drain) | (Some(args::Forget::Flush), Verdict::Flush) => true,
            (Some(_) | None, _) => false,
        };
        let wrong = if forgotten { shown.clone() } else { self.rounds(&new()?, [over, write, read])? };
        let chance = match decision.verdict {
            Verdict::NotNeeded => Chance::Never,
            Verdict::Drain | Verdict::Flush | Verdict::FlushGpu | Verdict::Refused => Chance::Possible,
        };
        Ok(AccessRow {
            kind: Kind::HandOver,
            over: Some(over),
            write: Some(write),
            read,
            decision: Some(decision.into()),
            with_library: Check::of(wrong),
            without_flushes: Unflushed { chance, shown },
        })
    }

    /// Measures with the library's drains, round after round. Before every other write the reader reads. At the end the CPU's lines leave its
    /// caches: a write over which one of them is written back is lost.
    fn rounds(&self, object: &Measured<'_>, [over, write, read]: [Via; 3]) -> Result<Option<Wrong>> {
        let mut bytes = vec![0; object.size() as usize];
        let mut random = Random::new(self.args.seed);
        let mut last = 0;
        for (number, &count) in self.counts.iter().enumerate() {
            let round = Round::new(&mut random, self.lines, count);
            object.write(over, Flushing::Library, &round.over)?;
            apply(&round.over, &mut bytes);
            if number % 2 == 1 {
                let seen = object.read(read, Flushing::Library)?;
                if let Some(wrong) = Wrong::find(&seen, &bytes, None, count) {
                    return Ok(Some(wrong));
                }
            }
            let old = bytes.clone();
            object.write(write, Flushing::Library, &round.write)?;
            apply(&round.write, &mut bytes);
            let seen = object.read(read, Flushing::Library)?;
            if let Some(wrong) = Wrong::find(&seen, &bytes, Some(&old), count) {
                return Ok(Some(wrong));
            }
            last = count;
        }
        object.evict()?;
        let seen = object.read(object.via(), Flushing::None)?;
        Ok(Wrong::find(&seen, &bytes, None, last))
    }

    /// Measures once without the library: all agents agree on the old bytes, and the reader has cached them.
    fn once(&self, object: &Measured<'_>, [over, write, read]: [Via; 3]) -> Result<Option<Wrong>> {
        let mut bytes = vec![0; object.size() as usize];
        let round = Round::new(&mut Random::new(!self.args.seed), self.lines, UNFLUSHED_LINES);
        object.write(over, Flushing::Library, &round.over)?;
        apply(&round.over, &mut bytes);
        object.read(read, Flushing::Library)?;
        let old = bytes.clone();
        object.write(write, Flushing::None, &round.write)?;
        apply(&round.write, &mut bytes);
        let seen = object.read(read, Flushing::None)?;
        Ok(Wrong::find(&seen, &bytes, Some(&old), UNFLUSHED_LINES))
    }
}
