//! Text form of `gemtool alloc`.

use std::io;

use anstyle::Style;
use gem_coherency::object::FlushOwner;
use gemtool::kernel_trace::Shape;

use crate::cmd::objects::alloc::acquire::Without;
use crate::cmd::objects::alloc::report::{
    AllocReport, BoReport, Check, Contents, Group, KernelCaching, ReleaseReport, Request, StepLine, Total,
};
use crate::cmd::objects::alloc::traced::Traced;
use crate::cmd::objects::alloc::xe::{RefusedIndex, XeObject};
use crate::render::model::explain::{effect_style, effect_words, state_words};
use crate::render::programs::trace::{style, verdict};
use crate::render::{Align, Page, Report, Table, bytes, coherent_words, held_style, verdict_style};

impl Report for AllocReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        if let Some(acquire) = &self.acquire {
            page.gap()?;
            page.heading("The kernel, at the first touch of a page (predicted)")?;
            page.field("before", &state_words(&acquire.before))?;
            page.styled_field("flushes", &effect_words(&acquire.effects), effect_style(&acquire.effects))?;
            page.field("after", &state_words(&acquire.after))?;
            page.field("rule", &format!("{}: {}", acquire.rule, acquire.reason))?;
            page.field("source", acquire.source)?;
            let Without { effects, rule } = &acquire.without_rule;
            let by = if effects.is_empty() { format!(" ({rule})") } else { String::new() };
            page.field("without it", &format!("{}{by}", effect_words(effects)))?;
        }
        if let Some(object) = &self.xe {
            xe(page, object)?;
        }
        if let Some(why) = self.acquire_not_predicted {
            page.field("acquire", &format!("the kernel's is not predicted: {why}"))?;
        }
        if let Some(traced) = &self.traced {
            page.gap()?;
            page.heading(&format!("The kernel's flushes of handle {} (traced)", traced.handle))?;
            flushes(page, traced)?;
        }
        for group in &self.groups {
            page.gap()?;
            page.heading(&title(group))?;
            // The caching that an object of xe was created with: there is no request for it.
            let says = if self.xe.is_some() { "created as" } else { "kernel says" };
            bo(page, &self.asked, &group.bo, says)?;
            page.gap()?;
            steps(page, &group.bo.steps)?;
        }
        if self.asked.count > 1 {
            page.gap()?;
            // A signal may have ended the allocation early.
            let done: u64 = self.groups.iter().map(|group| group.count).sum();
            let all = if done == self.asked.count { "All".to_owned() } else { format!("{done} of") };
            page.heading(&format!("{all} {} BOs, by rule", self.asked.count))?;
            totals(page, &self.totals)?;
        }
        Ok(())
    }
}

impl Report for ReleaseReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        page.heading(&format!("Released: {}", self.released))?;
        totals(page, &self.totals)
    }
}

/// Writes what xe does in place of domains and flushes.
fn xe(page: &mut Page<'_>, object: &XeObject) -> io::Result<()> {
    page.gap()?;
    page.heading("xe, in place of domains and flushes (predicted)")?;
    let memory = if object.local { "local memory" } else { "system memory" };
    page.field("created", &format!("cpu_caching {}, {memory}", object.cpu_caching))?;
    page.field("bound by", &format!("PAT index {}, coherency {}", object.pat_index, object.coherency))?;
    for (name, required) in [("CPU stores", &object.stores), ("GPU writes", &object.gpu_writes)] {
        page.field(name, &format!("{} ({}): {}", required.verdict, required.rule, required.reason))?;
        page.field("source", required.source)?;
    }
    let Some(RefusedIndex { pat_index, errno, rule, reason }) = &object.refused else {
        return page.field("refused", "no PAT index of the table: the CPU has no cached line of the BO");
    };
    page.field("refused", &format!("PAT index {pat_index}, {errno} ({rule}): {reason}"))
}

/// Writes the flushes that the kernel's trace shows, and those that the rules predict.
fn flushes(page: &mut Page<'_>, traced: &Traced) -> io::Result<()> {
    if traced.flushes.is_empty() {
        page.field("flushes", "none was seen, and none was predicted")?;
    }
    for row in &traced.flushes {
        let name = |shape: Option<Shape>| shape.map_or("none", Shape::name);
        let (seen, predicted) = (name(row.seen), name(row.predicted));
        let words = format!("seen: {seen}, predicted: {predicted} ({})", verdict(row));
        page.styled_field(row.call.unwrap_or("no call"), &words, style(row.verdict))?;
    }
    if !traced.missing.is_empty() {
        page.field("not probed", &traced.missing.join(", "))?;
    }
    Ok(())
}

/// Returns the heading of a group.
fn title(group: &Group) -> String {
    let handles: Vec<u32> = group.handles.iter().copied().collect();
    let handles = match handles.as_slice() {
        [] => "no handle".to_owned(),
        [only] => format!("handle {only}"),
        [first, .., last] => format!("handles {first} to {last}"),
    };
    match group.count {
        1 => format!("BO ({handles})"),
        count => format!("{count} identical BOs ({handles}); each"),
    }
}

/// Writes the properties of a BO.
fn bo(page: &mut Page<'_>, asked: &Request, bo: &BoReport, says: &str) -> io::Result<()> {
    let map = asked.map.map_or("the library's choice".to_owned(), |mode| mode.to_string());
    let caching = asked.caching.map_or("the platform's default".to_owned(), |mode| mode.to_string());
    let size = bytes(asked.size_bytes);
    page.field("asked", &format!("{size}, caching {caching}, map {map}, contents {}", asked.fill))?;
    let caching = match &bo.kernel_caching {
        KernelCaching::Mode(mode) => format!("caching {mode}"),
        KernelCaching::Refused(errno) => format!("caching unknown ({errno})"),
    };
    page.field(says, &format!("{}, {caching}", bytes(bo.size_bytes)))?;
    page.field("level", &format!("{}, coherent for {}", bo.level, coherent_words(&bo.coherent)))?;
    page.field("map", bo.map.name())?;
    let when = if bo.flushed_by == FlushOwner::Library { ", where an access needs it" } else { "" };
    page.field("flushed by", &format!("{}{when} ({})", bo.flushed_by, bo.flush_rule))?;
    if let Some(export) = &bo.export {
        let back = if export.same_handle {
            "the import returned the same handle"
        } else {
            "the import returned another handle"
        };
        page.styled_field("export", back, held_style(export.same_handle))?;
    }
    let held = bo.contents.mapping.passed() && bo.contents.pread.passed();
    page.styled_field("contents", &contents_words(&bo.contents), held_style(held))
}

/// Describes the checks of the contents.
fn contents_words(contents: &Contents) -> String {
    let words = |way: &str, check: &Check| match check {
        Check::Right => format!("right {way}"),
        Check::WrongAt(offset) => format!("WRONG {way} from byte {offset} on"),
        Check::NotAvailable(why) => format!("not read {way} ({why})"),
    };
    format!("{}, {}", words("through the mapping", &contents.mapping), words("with PREAD", &contents.pread))
}

/// Writes the flush at each step, or the reason why none was needed.
pub fn steps(page: &mut Page<'_>, steps: &[StepLine]) -> io::Result<()> {
    use Align::{Left, Right};
    let heads = [("step", Left), ("verdict", Left), ("lines", Right), ("bytes", Right), ("rule", Left)];
    let mut table = Table::new(2, &heads);
    for line in steps {
        let (lines, bytes) = (line.lines.to_string(), line.bytes.to_string());
        table.row([line.step.name(), line.verdict.name(), &lines, &bytes, line.rule.name()]);
        table.style(0, Style::new().bold()).style(1, verdict_style(line.verdict)).note(line.reason);
    }
    table.write(page)
}

/// Writes the effect of each rule.
fn totals(page: &mut Page<'_>, totals: &[Total]) -> io::Result<()> {
    use Align::{Left, Right};
    let heads = [
        ("step", Left),
        ("verdict", Left),
        ("BOs", Right),
        ("lines", Right),
        ("bytes", Right),
        ("rule", Left),
    ];
    let mut table = Table::new(2, &heads);
    for total in totals {
        let [bos, lines, bytes] = [total.bos, total.lines, total.bytes].map(|number| number.to_string());
        table.row([total.step.name(), total.verdict.name(), &bos, &lines, &bytes, total.rule.name()]);
        table.style(0, Style::new().bold()).style(1, verdict_style(total.verdict));
    }
    table.write(page)
}
