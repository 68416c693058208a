//! Text form of `gemtool bench`.

use std::io;

use anstyle::Style;
use gem_coherency_bench::{BenchReport, Line, Machine, Quartiles};

use super::{Align, Page, Report, Table, held_style};

impl Report for BenchReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        machine(page, &self.machine)?;
        let mut row = "";
        for line in &self.lines {
            if line.row != row {
                row = line.row;
                page.gap()?;
                page.heading(row)?;
                let lines: Vec<_> = self.lines.iter().filter(|line| line.row == row).collect();
                table(&lines).write(page)?;
            }
        }
        page.gap()?;
        self.notes.iter().try_for_each(|note| page.note(0, note))?;
        self.wrong.iter().try_for_each(|wrong| page.styled_heading(wrong, held_style(false)))?;
        if self.quick {
            page.line("A quick run: the numbers are not meaningful.")?;
        }
        page.line(&format!("{} of {} targets reached", self.reached, self.targets))
    }
}

/// Writes the machine's description.
fn machine(page: &mut Page<'_>, machine: &Machine) -> io::Result<()> {
    let virtual_machine = if machine.is_virtual { ", in a virtual machine" } else { "" };
    page.heading(&format!("{}{virtual_machine}", machine.cpu))?;
    page.field("processors", &machine.processors.to_string())?;
    page.field("caches", &machine.caches.join(", "))?;
    let support = &machine.support;
    let instructions = format!(
        "{} writes back, {} flushes, {} stores non-temporally",
        support.write_back_by, support.flush_by, support.store_by
    );
    page.field("instructions", &instructions)?;
    page.field("kernel", &format!("{}, load {} at the start", machine.kernel, machine.load))?;
    page.field("build", machine.build)
}

/// Returns the table of one row's lines.
fn table(lines: &[&Line]) -> Table {
    let heads = [
        ("case", Align::Left),
        ("", Align::Left),
        ("time", Align::Right),
        ("peer", Align::Left),
        ("time", Align::Right),
        ("ratio", Align::Right),
        ("quartiles", Align::Left),
        ("target", Align::Left),
    ];
    let mut table = Table::new(2, &heads);
    for line in lines {
        table.row([
            line.case.clone(),
            line.ours.to_owned(),
            time(line.ours_ns.median),
            line.peer.to_owned(),
            time(line.peer_ns.median),
            ratio(line.ratio.median),
            quartiles(line.ratio),
            target(line),
        ]);
        table.style(7, line.reached.map_or(Style::new(), held_style));
    }
    table
}

/// Describes a line's target, and whether it is reached.
fn target(line: &Line) -> String {
    let Some(least) = line.target else { return String::new() };
    let verdict = if line.reached == Some(true) { "yes" } else { "no" };
    format!(">= {least} {verdict}")
}

/// Formats the first and third quartile.
fn quartiles(ratios: Quartiles) -> String {
    format!("{}-{}", ratio(ratios.low), ratio(ratios.high))
}

/// Formats a ratio with suitable precision.
fn ratio(ratio: f64) -> String {
    if ratio >= 100.0 {
        format!("{ratio:.0}")
    } else if ratio >= 10.0 {
        format!("{ratio:.1}")
    } else {
        format!("{ratio:.2}")
    }
}

/// Formats a time in the unit that gives it few digits.
fn time(ns: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let unit = UNITS.iter().find(|(size, _)| ns >= *size);
    let (value, name) = unit.map_or((ns, "ns"), |(size, name)| (ns / size, *name));
    if value >= 100.0 {
        format!("{value:.0} {name}")
    } else if value >= 10.0 {
        format!("{value:.1} {name}")
    } else {
        format!("{value:.2} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ratios_have_three_digits() {
        let times = [0.5, 9.994, 99.4, 123.0, 1234.0, 5.6e7, 2.5e9].map(time);
        assert_eq!(times, ["0.50 ns", "9.99 ns", "99.4 ns", "123 ns", "1.23 us", "56.0 ms", "2.50 s"]);
        assert_eq!([0.971, 12.34, 456.7].map(ratio), ["0.97", "12.3", "457"]);
    }

    #[test]
    fn a_line_shows_both_times_the_ratio_its_spread_and_the_verdict() {
        let quartiles = |low, median, high| Quartiles { low, median, high };
        let line = Line {
            row: "flush",
            case: "4 KiB".to_owned(),
            ours: "ours",
            ours_ns: quartiles(90.0, 100.0, 110.0),
            peer: "peer",
            peer_ns: quartiles(140.0, 150.0, 160.0),
            ratio: quartiles(1.4, 1.5, 1.6),
            rounds: 5,
            target: Some(1.3),
            reached: Some(true),
        };
        let missed = Line { target: Some(1.7), reached: Some(false), ..line.clone() };
        let open = Line { target: None, reached: None, ..line.clone() };
        let mut out = Vec::new();
        table(&[&line, &missed, &open]).write(&mut Page::plain(&mut out, 100)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let [head, reached, missed, open] = lines.as_slice() else { panic!("{text}") };
        assert!(head.contains("case") && head.ends_with("target"), "{head}");
        assert!(reached.contains("100 ns") && reached.contains("150 ns"), "{reached}");
        assert!(reached.contains("1.50  1.40-1.60") && reached.ends_with(">= 1.3 yes"), "{reached}");
        assert!(missed.ends_with(">= 1.7 no"), "{missed}");
        assert!(open.ends_with("1.40-1.60"), "{open}");
    }
}
