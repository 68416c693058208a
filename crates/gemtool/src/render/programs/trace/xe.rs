//! Text form of a trace of xe.

use std::collections::BTreeSet;
use std::io;

use gem_coherency::xe::Rule;
use gemtool::kernel_trace::{Answer, RequestRow, Verdict, XeShape};

use super::parts::{PLACE, head, left_out, lost, place, rule_texts, several, style};
use crate::cmd::programs::trace::XeTrace;
use crate::render::{Align, Page, Report, Table, bytes, grouped, held_style};

impl Report for XeTrace {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        head(page, &self.device, &self.run, self.without.map(Rule::name))?;
        if self.requests.is_empty() {
            page.gap()?;
            page.line("No request was seen that the rules judge.")?;
        } else {
            self.request_table(page)?;
        }
        if self.flushes.is_empty() {
            page.gap()?;
            page.line("No flush of an object was seen, and none was predicted.")?;
        } else {
            self.flush_table(page)?;
        }
        if !self.counts.calls.is_empty() {
            self.call_table(page)?;
        }
        page.gap()?;
        self.summary(page)?;
        let requests = self.requests.iter().filter_map(|row| row.rule);
        let rules: BTreeSet<_> = requests.chain(self.flushes.iter().filter_map(|row| row.rule)).collect();
        rule_texts(page, rules)
    }
}

impl XeTrace {
    fn request_table(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        let heads = [
            ("size", Align::Right),
            ("asked", Align::Left),
            ("answer", Align::Left),
            ("predicted", Align::Left),
            ("verdict", Align::Left),
        ];
        let mut table = Table::new(2, &[&PLACE[..], &heads].concat());
        for (number, row) in self.requests.iter().enumerate() {
            let place =
                place(&self.run, row.time_ns, (row.tid, &row.comm), Some(row.call.name()), row.object);
            table.row(place.into_iter().chain([
                row.bytes.map_or_else(String::new, bytes),
                row.asked.to_string(),
                row.answer.to_string(),
                row.predicted.map_or_else(|| "?".to_owned(), |answer| answer.to_string()),
                answered(row),
            ]));
            table.style(8, style(row.verdict));
            if row.verdict.is_mismatch() {
                table.style(6, held_style(false)).style(7, held_style(false));
            }
            // Once for the operations of a VM_BIND.
            let next = self.requests.get(number + 1);
            if next.is_none_or(|next| (next.time_ns, next.tid) != (row.time_ns, row.tid))
                && let Some(why) = note(row.verdict, row.why, row.rule)
            {
                table.note(why);
            }
        }
        table.write(page)
    }

    fn flush_table(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        let heads = [
            ("pages", Align::Right),
            ("flushed", Align::Right),
            ("flush seen", Align::Left),
            ("predicted", Align::Left),
            ("verdict", Align::Left),
        ];
        let mut table = Table::new(2, &[&PLACE[..], &heads].concat());
        for row in &self.flushes {
            let place = place(
                &self.run,
                row.time_ns,
                (row.tid, &row.comm),
                row.call.map(|call| call.name()),
                row.object,
            );
            table.row(place.into_iter().chain([
                row.bytes.map_or_else(String::new, bytes),
                bytes(row.flushed_bytes),
                row.seen.name().to_owned(),
                row.predicted.map_or("?", XeShape::name).to_owned(),
                judged(row.verdict, row.rule),
            ]));
            table.style(8, style(row.verdict));
            if row.verdict.is_mismatch() {
                table.style(6, held_style(false)).style(7, held_style(false));
            }
            if let Some(why) = note(row.verdict, row.why, row.rule) {
                table.note(why);
            }
        }
        table.write(page)
    }

    fn call_table(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        let heads = [
            ("calls of", Align::Left),
            ("all", Align::Right),
            ("refused", Align::Right),
            ("flushes", Align::Right),
        ];
        let mut table = Table::new(2, &heads);
        for count in &self.counts.calls {
            let numbers = [count.calls, count.refused, count.flushes].map(grouped);
            table.row([&[count.call.name().to_owned()], &numbers[..]].concat());
        }
        table.write(page)
    }

    fn summary(&self, page: &mut Page<'_>) -> io::Result<()> {
        let counts = &self.counts;
        let text = format!(
            "{}, {}, {}: {} predicted, {}, {} not followed",
            several(counts.objects, ["object", "objects"]),
            several(counts.requests, ["request", "requests"]),
            several(counts.flushes, ["flush", "flushes"]),
            grouped(counts.predicted),
            several(counts.mismatches, ["mismatch", "mismatches"]),
            grouped(counts.not_followed),
        );
        page.styled_heading(&text, held_style(self.passed))?;
        if counts.own_flushes > 0 {
            let own = grouped(counts.own_flushes);
            page.note(2, &format!("Flushes of the driver's own objects, such as page tables: {own}."))?;
        }
        left_out(page, self.left_out, "requests and flushes")?;
        lost(page, counts.lost)
    }
}

/// Describes the verdict on an answer with the check that fails.
fn answered(row: &RequestRow) -> String {
    match (row.verdict, row.predicted, row.rule) {
        (Verdict::Predicted, Some(Answer::Accepted), _) => "as predicted".to_owned(),
        (verdict, _, rule) => judged(verdict, rule),
    }
}

/// Describes the verdict with its rule.
fn judged(verdict: Verdict, rule: Option<Rule>) -> String {
    let rule = rule.map_or("no rule", Rule::name);
    match verdict {
        Verdict::Predicted => rule.to_owned(),
        Verdict::Unpredicted | Verdict::Unseen => format!("MISMATCH: {rule}"),
        Verdict::NotFollowed => "not followed".to_owned(),
    }
}

/// Explains a mismatch, and why there is no verdict.
fn note(verdict: Verdict, why: Option<&str>, rule: Option<Rule>) -> Option<String> {
    let why = why?;
    match (verdict, rule) {
        (Verdict::Predicted, _) => None,
        (Verdict::NotFollowed, _) => Some(format!("Not followed: {why}.")),
        (Verdict::Unpredicted | Verdict::Unseen, None) => Some(why.to_owned()),
        (Verdict::Unpredicted | Verdict::Unseen, Some(rule)) => {
            Some(format!("{why} {rule}: {}", rule.reason()))
        }
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency::backend::DriverVersion;
    use gem_coherency::platform::Basis;
    use gem_coherency::vocabulary::KernelVersion;
    use gem_coherency::xe::by_name;
    use gemtool::kernel_trace::{XeFollower, parse};

    use super::*;
    use crate::cmd::device::DeviceLine;
    use crate::cmd::programs::trace::Run;

    const RECORDED: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernel_trace/recorded/lnl-xe-7.2.trace"));

    /// Returns the report of the trace recorded on Lunar Lake.
    fn report(without: Option<Rule>) -> XeTrace {
        let kernel = KernelVersion::new(7, 2);
        let platform = by_name("lnl").unwrap();
        let mut follower = XeFollower::new(platform.device(kernel).unwrap(), without, &[], Some(0));
        RECORDED.lines().filter_map(parse).for_each(|seen| follower.feed(&seen));
        let driver = DriverVersion {
            name: "xe".to_owned(),
            version: (1, 1, 0),
            date: String::new(),
            description: String::new(),
        };
        let name = "/dev/dri/renderD128".to_owned();
        let counts = follower.counts().clone();
        XeTrace {
            device: DeviceLine {
                name,
                driver,
                platform: platform.name(),
                title: platform.title(),
                kernel,
                basis: Basis::of(kernel),
            },
            run: Run {
                command: vec!["python3".to_owned()],
                ended: Some("exit status: 0".to_owned()),
                missing: Vec::new(),
                start_ns: 21_000_000_000,
            },
            without,
            requests: follower.requests(),
            flushes: follower.flushes(),
            left_out: 0,
            passed: counts.mismatches == 0,
            counts,
        }
    }

    fn page(without: Option<Rule>) -> String {
        let mut out = Vec::new();
        report(without).text(&mut Page::plain(&mut out, 110)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_answer_and_each_flush_stands_beside_its_prediction() {
        let page = page(None);
        for line in [
            "        ms  process      call         BO    size  asked                answer    predicted  verdict",
            "  4193.554  python3-152  create       #1  64 KiB  wb system            accepted  accepted   as predicted",
            "  4217.396  python3-152  create           64 KiB  wb system scanout    EINVAL    EINVAL     scanout-is-wc",
            "            Not followed: refused after the rules' checks: its fences, or the binding itself.",
            "        ms  process      call    BO   pages  flushed  flush seen  predicted  verdict",
            "  4215.949  python3-152  create  #2  64 KiB   64 KiB  new pages   new pages  no-cpu-lines",
            "  4231.682  python3-152  create  #3  64 KiB  0 bytes  pool        pool       no-cpu-lines",
            "  vm-bind              3        2        4",
            "4 objects, 13 requests, 2 flushes: 15 predicted, 0 mismatches, 1 not followed",
            "  Flushes of the driver's own objects, such as page tables: 7.",
            "cached-not-snooped",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(!page.contains("MISMATCH"), "{page}");
    }

    #[test]
    fn a_mismatch_stands_out_and_says_why() {
        let page = page(Some(Rule::CachedNotSnooped));
        assert!(page.contains("without the rule cached-not-snooped"), "{page}");
        assert!(page.contains("EINVAL    accepted   MISMATCH:"), "{page}");
        let why = "The kernel refused what the rules accept. cached-not-snooped: The CPU maps the object WB";
        assert!(page.contains(why), "{page}");
        assert!(page.contains("14 predicted, 1 mismatch, 1 not followed"), "{page}");
    }

    #[test]
    fn one_is_not_a_plural() {
        let mut one = report(None);
        (one.counts.objects, one.counts.requests, one.counts.flushes) = (1, 1, 1);
        let mut out = Vec::new();
        one.text(&mut Page::plain(&mut out, 110)).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.contains("\n1 object, 1 request, 1 flush: 15 predicted, 0 mismatches"), "{page}");
    }

    /// The keys of the documents of the commands that need no real device are in tests/gemtool/json-keys.
    #[test]
    fn the_document_has_these_keys() {
        let document = serde_json::to_value(report(None)).unwrap();
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys.join(" ")
        };
        assert_eq!(
            keys(&document),
            "command counts device ended flushes left_out missing passed requests start_ns without"
        );
        assert_eq!(
            keys(&document["requests"][0]),
            "answer asked bytes call comm handle object predicted rule tid time_ns verdict why"
        );
        assert_eq!(
            keys(&document["requests"][0]["asked"]),
            "address caching flags operation operations pat_index placement"
        );
        assert_eq!(
            keys(&document["flushes"][0]),
            "bytes call comm flushed_bytes handle object pooled_bytes predicted rule seen tid time_ns verdict why"
        );
        assert_eq!(
            keys(&document["counts"]),
            "calls flushes lost mismatches not_followed objects own_flushes predicted requests"
        );
        assert_eq!(keys(&document["counts"]["calls"][0]), "call calls flushes refused");
        assert_eq!(document["requests"][4]["answer"], "EINVAL");
        assert_eq!(document["requests"][4]["rule"], "scanout-is-wc");
    }
}
