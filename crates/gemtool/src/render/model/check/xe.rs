//! Text form of `gemtool check --driver xe`.

use std::io;

use anstyle::{AnsiColor, Style};
use gem_coherency::platform::Basis;
use gem_coherency::xe::Verdict;
use gem_coherency_check::Value;
use gem_coherency_check::xe::Copies;

use super::kernel_words;
use crate::cmd::model::check::xe::{DeviceLine, Required, XeCheck, XeTrace};
use crate::render::{Align, Page, Report, Table, counted, grouped, held_style};

/// Columns of the names of actors.
const NAME: usize = 9;

impl Report for XeCheck {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        use Align::{Left, Right};
        page.heading("Searched, under xe")?;
        page.field("kernels", &kernel_words(&self.kernels))?;
        page.field("users", "driver (follows the rules), hostile (does not)")?;
        match self.change {
            None => page.field("changed", "no rule is left out")?,
            Some(change) => {
                let known = if change.basis == Basis::Read { " (read, and not run)" } else { "" };
                let text = format!("without {}{known}", change.name);
                page.styled_field("changed", &text, AnsiColor::Yellow.on_default())?;
            }
        }
        page.gap()?;
        let heads = [
            ("platform", Left),
            ("kernel", Left),
            ("known", Left),
            ("searches", Right),
            ("states", Right),
            ("transitions", Right),
            ("result", Left),
        ];
        let mut table = Table::new(2, &heads);
        for line in &self.devices {
            let names: Vec<_> = line.broken.iter().map(|property| property.name()).collect();
            table.row([
                line.platform.to_owned(),
                line.kernel.to_string(),
                line.basis.name().to_owned(),
                line.searches.to_string(),
                grouped(line.states as u64),
                grouped(line.transitions as u64),
                if names.is_empty() { "holds".to_owned() } else { names.join(", ") },
            ]);
            table.style(6, held_style(names.is_empty()));
        }
        table.write(page)?;
        page.gap()?;
        let found = self.shortest.and_then(|place| self.devices.get(place));
        if let Some((line, trace)) = found.and_then(|line| Some((line, line.violation.as_ref()?))) {
            violation(page, line, trace)?;
        }
        let broken = self.devices.iter().filter(|line| line.violation.is_some()).count() as u64;
        let all = counted(self.devices.len() as u64, "device");
        let verdict = if self.holds {
            format!("Every property holds: {all}.")
        } else {
            format!("Broken on {broken} of {all}.")
        };
        page.styled_heading(&verdict, held_style(self.holds))
    }
}

/// Writes a trace.
fn violation(page: &mut Page<'_>, line: &DeviceLine, trace: &XeTrace) -> io::Result<()> {
    let XeTrace { property, memory, user, .. } = trace;
    let on = format!("{}, kernel {}", line.platform, line.kernel);
    page.heading(&format!("The shortest violation: {property} on {on}, {memory}, {user}"))?;
    page.gap()?;
    page.line(&format!("{:>3}  new memory", 0))?;
    copies(page, &trace.first)?;
    for (index, step) in trace.steps.iter().enumerate() {
        let is_last = index + 1 == trace.steps.len();
        let style = if is_last { AnsiColor::Red.on_default().bold() } else { Style::new().bold() };
        let read = step.read.map_or_else(String::new, |value| format!(": {value}"));
        let what = page.paint(style, &format!("{}{read}", step.step));
        page.line(&format!("{:>3}  {:<NAME$}{what}", index + 1, step.actor))?;
        if let Some(required) = step.required {
            page.wrapped(5 + NAME, &required_words(required))?;
        }
        copies(page, &step.after)?;
    }
    page.gap()?;
    page.note(2, &format!("{property}: {}", trace.statement))?;
    page.note(
        2,
        "newest: written last (at first, zeroes); old: written earlier; secret: the previous owner's.",
    )?;
    page.gap()
}

fn required_words(Required { verdict, rule, left_out }: Required) -> String {
    match (verdict, left_out) {
        (_, true) => format!("omits the operation that {rule} requires: the rule is removed"),
        (Verdict::NotNeeded, false) => format!("required: nothing ({rule})"),
        (Verdict::Refused, false) => format!("required: unknown, the rules exclude the mapping ({rule})"),
        (Verdict::Drain | Verdict::Flush | Verdict::FlushGpu, false) => {
            format!("required: {verdict} ({rule})")
        }
    }
}

/// Writes the copies of the line.
fn copies(page: &mut Page<'_>, copies: &Copies) -> io::Result<()> {
    let Copies { local, memory, cpu, combining, bus, gpu } = copies;
    let cached = |name, value: Value, dirty| format!("{name} {value}{}", if dirty { " (dirty)" } else { "" });
    let mut words = vec![format!("{} {memory}", if *local { "local memory" } else { "memory" })];
    words.extend(cpu.map(|line| cached("CPU cache", line.value, line.dirty)));
    words.extend(combining.map(|value| format!("WC stores {value}")));
    words.extend(bus.map(|value| format!("stores on the bus {value}")));
    words.extend(gpu.map(|line| cached("GPU cache", line.value, line.dirty)));
    page.wrapped(5 + NAME, &words.join(", "))
}
