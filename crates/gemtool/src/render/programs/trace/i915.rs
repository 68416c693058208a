//! Text form of a trace of i915.

use std::collections::BTreeSet;
use std::io;

use gem_coherency::policy::Rule;
use gemtool::kernel_trace::{Row, Shape, Verdict};

use super::parts::{PLACE, head, left_out, lost, place, rule_texts, several, style};
use crate::cmd::programs::trace::I915Trace;
use crate::render::{Align, Page, Report, Table, bytes, grouped, held_style};

impl Report for I915Trace {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        head(page, &self.device, &self.run, self.without.map(Rule::name))?;
        if self.flushes.is_empty() {
            page.gap()?;
            page.line("No flush was seen, and none was predicted.")?;
        } else {
            self.table(page)?;
        }
        page.gap()?;
        self.summary(page)?;
        let rules: BTreeSet<_> = self.flushes.iter().filter_map(|row| row.rule).collect();
        rule_texts(page, rules)
    }
}

impl I915Trace {
    fn table(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        let heads = [
            ("size", Align::Right),
            ("flush seen", Align::Left),
            ("predicted", Align::Left),
            ("verdict", Align::Left),
        ];
        let mut table = Table::new(2, &[&PLACE[..], &heads].concat());
        for row in &self.flushes {
            let shape = |shape: Option<Shape>| shape.map_or("none", Shape::name).to_owned();
            let predicted = match row.verdict {
                Verdict::NotFollowed => "?".to_owned(),
                Verdict::Predicted | Verdict::Unpredicted | Verdict::Unseen => shape(row.predicted),
            };
            let place = place(&self.run, row.time_ns, (row.tid, &row.comm), row.call, row.object);
            table.row(place.into_iter().chain([
                row.bytes.map_or_else(String::new, bytes),
                shape(row.seen),
                predicted,
                verdict(row),
            ]));
            table.style(7, style(row.verdict));
            if row.verdict.is_mismatch() {
                table.style(5, held_style(false)).style(6, held_style(false)).note(note(row));
            }
        }
        table.write(page)
    }

    fn summary(&self, page: &mut Page<'_>) -> io::Result<()> {
        let counts = &self.counts;
        let text = format!(
            "{}, {}, {}: {} predicted, {}, {} not followed",
            several(counts.calls, ["call", "calls"]),
            several(counts.objects, ["object", "objects"]),
            several(counts.flushes, ["flush", "flushes"]),
            grouped(counts.predicted),
            several(counts.mismatches, ["mismatch", "mismatches"]),
            grouped(counts.not_followed)
        );
        page.styled_heading(&text, held_style(self.passed))?;
        left_out(page, self.left_out, "flushes")?;
        lost(page, counts.lost)?;
        Ok(())
    }
}

/// Describes the verdict with the rule or the reason.
pub fn verdict(row: &Row) -> String {
    let rule = row.rule.map_or("no rule", |rule| rule.name());
    match row.verdict {
        Verdict::Predicted => rule.to_owned(),
        Verdict::Unpredicted | Verdict::Unseen => format!("MISMATCH: {rule}"),
        Verdict::NotFollowed => format!("not followed: {}", row.why.unwrap_or("unknown")),
    }
}

/// Explains a mismatch.
fn note(row: &Row) -> String {
    let event = row.event.map_or_else(|| "of no event".to_owned(), |event| format!("at {event}"));
    let why = row.rule.map_or("No event of the rules is known to have happened.", |rule| rule.reason());
    match row.verdict {
        Verdict::Unseen => {
            format!("The kernel did not perform the flush that the rules predict {event}: {why}")
        }
        Verdict::Unpredicted | Verdict::Predicted | Verdict::NotFollowed => {
            format!("The kernel performed a flush that the rules do not predict {event}: {why}")
        }
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency::backend::DriverVersion;
    use gem_coherency::platform::{Basis, by_name};
    use gem_coherency::policy::kernel::KernelRules;
    use gem_coherency::vocabulary::KernelVersion;
    use gemtool::kernel_trace::{Follower, parse};

    use super::*;
    use crate::cmd::device::DeviceLine;
    use crate::cmd::programs::trace::Run;

    /// Returns the text form of a trace recorded on Jasper Lake.
    fn page(without: Option<Rule>) -> String {
        let mut out = Vec::new();
        report(RECORDED, without).text(&mut Page::plain(&mut out, 100)).unwrap();
        String::from_utf8(out).unwrap()
    }

    const RECORDED: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernel_trace/recorded/jsl-6.12.trace"));

    /// Returns the report of a `trace` of Jasper Lake.
    fn report(trace: &str, without: Option<Rule>) -> I915Trace {
        let kernel = KernelVersion::new(6, 12);
        let platform = by_name("jsl").unwrap();
        let rules = KernelRules { without, ..KernelRules::of(kernel).unwrap() };
        let mut follower = Follower::new(platform.machine(kernel, false).caps, rules);
        trace.lines().filter_map(parse).for_each(|seen| follower.feed(&seen));
        follower.finish(0);
        let counts = follower.counts();
        let driver = DriverVersion {
            name: "i915".to_owned(),
            version: (1, 6, 0),
            date: String::new(),
            description: String::new(),
        };
        let name = "/dev/dri/card0".to_owned();
        let basis = Basis::of(kernel);
        I915Trace {
            device: DeviceLine {
                name,
                driver,
                platform: platform.name,
                title: platform.title,
                kernel,
                basis,
            },
            run: Run {
                command: vec!["gemtool".to_owned(), "alloc".to_owned()],
                ended: Some("exit status: 0".to_owned()),
                missing: Vec::new(),
                start_ns: 27_000_000_000,
            },
            without,
            flushes: follower.rows(),
            left_out: 0,
            passed: counts.mismatches == 0,
            counts,
        }
    }

    /// The keys of the documents of the commands that need no real device are in tests/gemtool/json-keys.
    #[test]
    fn the_document_has_these_keys() {
        let document = serde_json::to_value(report(RECORDED, None)).unwrap();
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys.join(" ")
        };
        assert_eq!(
            keys(&document),
            "command counts device ended flushes left_out missing passed start_ns without"
        );
        assert_eq!(
            keys(&document["flushes"][0]),
            "bytes call comm event handle object predicted rule seen tid time_ns verdict why"
        );
        assert_eq!(keys(&document["counts"]), "calls flushes lost mismatches not_followed objects predicted");
    }

    #[test]
    fn a_process_name_sends_nothing_to_the_terminal() {
        let name = "\u{1b}]0;x\u{7}\u{9b}2J";
        let columns = |name: &str| format!("{:>1$}-", name, 16 + name.chars().count() - name.len());
        let report = report(&RECORDED.replace(&columns("gemtool"), &columns(name)), None);
        for form in [crate::render::Form::Text, crate::render::Form::Json] {
            let mut out = Vec::new();
            Page::plain(&mut out, 160).report(&report, form).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
            let (shown, rows) = match form {
                crate::render::Form::Text => ("\\u{1b}]0;x\\u{7}\\u{9b}2J-171".to_owned(), 2),
                crate::render::Form::Json => ("\"\\u001b]0;x\\u0007\\u009b2J\"".to_owned(), 2),
            };
            assert_eq!(text.matches(&shown).count(), rows, "{text}");
        }
    }

    #[test]
    fn each_flush_stands_beside_its_rule() {
        let page = page(None);
        for line in [
            "  command       gemtool alloc (exit status: 0)",
            "        ms  process      call        BO    size  flush seen  predicted  verdict",
            "  1208.945  gemtool-171  fault       #1  64 KiB  whole       whole      bypass-acquire",
            "  1274.160  gemtool-171  execbuffer  #2   4 KiB  whole       whole      bypass-acquire",
            "7 calls, 2 objects, 2 flushes: 2 predicted, 0 mismatches, 0 not followed",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(!page.contains("MISMATCH"), "{page}");
    }

    #[test]
    fn a_mismatch_stands_out_and_says_why() {
        let page = page(Some(Rule::BypassAcquire));
        assert!(page.contains("without the rule bypass-acquire"), "{page}");
        assert!(page.contains("none       MISMATCH: exec-clean"), "{page}");
        assert!(page.contains("2 flushes: 1 predicted, 1 mismatch, 0 not followed"), "{page}");
        assert!(
            page.contains("The kernel performed a flush that the rules do not predict at exec-read"),
            "{page}"
        );
    }
}
