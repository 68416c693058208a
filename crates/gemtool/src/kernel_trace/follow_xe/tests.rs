//! Traces recorded in virtual machines with the real driver, unchanged and changed.

use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe::{self, Rule};

use super::*;
use crate::kernel_trace::{Verdict, XeCall, parse};

/// GEM_CREATE of a cached and of a write-combining object, and of a cached one with SCANOUT, which is refused; the write-combining one
/// is closed, and one like it created. VM_BIND of both in an array; of the cached one by an index that does not snoop; and with a fence that is
/// refused. A write-combining object whose pages come at a fault.
const LNL: &str = include_str!("../recorded/lnl-xe-7.2.trace");
/// The same.
const MTL: &str = include_str!("../recorded/mtl-xe-6.12.trace");
/// The same: system memory is never write-combining there.
const DG2: &str = include_str!("../recorded/dg2-xe-7.2.trace");

/// What a trace shows.
struct Seen {
    requests: Vec<RequestRow>,
    flushes: Vec<FlushRow>,
    counts: XeCounts,
}

/// Follows a trace, without pages in the pool.
fn follow(trace: &str, platform: &str, without: Option<Rule>) -> Seen {
    let kernel = if platform == "mtl" { KernelVersion::new(6, 12) } else { KernelVersion::new(7, 2) };
    let device = xe::by_name(platform).unwrap().device(kernel).unwrap();
    follow_by(trace, XeFollower::new(device, without, &[], Some(0)))
}

fn follow_by(trace: &str, mut follower: XeFollower) -> Seen {
    trace.lines().filter_map(parse).for_each(|seen| follower.feed(&seen));
    Seen { requests: follower.requests(), flushes: follower.flushes(), counts: follower.counts().clone() }
}

/// Follows a trace of Lunar Lake.
fn lnl(trace: &str) -> Seen {
    follow(trace, "lnl", None)
}

/// A request in words: call, BO, what was asked, answer, prediction, rule, verdict.
fn words(row: &RequestRow) -> String {
    let number = row.object.map_or_else(|| "-".to_owned(), |number| format!("#{number}"));
    let predicted = row.predicted.map_or_else(|| "?".to_owned(), |answer| answer.to_string());
    let rule = row.rule.map_or("-", Rule::name);
    format!("{} {number} {}: {} {predicted} {rule} {}", row.call, row.asked, row.answer, row.verdict)
}

/// A flush in words: call, BO, bytes of its pages, flushed and from the pool, what was seen and predicted, verdict.
fn flush_words(row: &FlushRow) -> String {
    let call = row.call.map_or("-", XeCall::name);
    let number = row.object.map_or_else(|| "-".to_owned(), |number| format!("#{number}"));
    let predicted = row.predicted.map_or("?", XeShape::name);
    let (bytes, flushed, pooled) = (row.bytes.unwrap_or(0), row.flushed_bytes, row.pooled_bytes);
    format!("{call} {number} {bytes} {flushed} {pooled}: {}, {predicted}, {}", row.seen, row.verdict)
}

/// Returns the trace without the lines of an event.
fn without_event(trace: &str, event: &str) -> String {
    let named = format!(": gemco_xe_{event}:");
    trace.lines().filter(|line| !line.contains(&named)).fold(String::new(), |text, line| text + line + "\n")
}

/// Returns the trace with `to` for `from` in the line `number` (from 0) of an event.
#[track_caller]
fn changed(trace: &str, event: &str, number: usize, from: &str, to: &str) -> String {
    let named = format!(": gemco_xe_{event}:");
    let mut left = number;
    let mut is_changed = false;
    let mut text = String::new();
    for line in trace.lines() {
        if line.contains(&named) {
            if left == 0 && !is_changed {
                assert!(line.contains(from), "{line}");
                text += &line.replacen(from, to, 1);
                text.push('\n');
                is_changed = true;
                continue;
            }
            left = left.saturating_sub(1);
        }
        text += line;
        text.push('\n');
    }
    assert!(is_changed, "no line {number} of {event}");
    text
}

/// The verdicts other than "predicted", with their reasons.
fn noticed(seen: &Seen) -> Vec<(Verdict, &'static str)> {
    let requests = seen.requests.iter().map(|row| (row.verdict, row.why));
    let all = requests.chain(seen.flushes.iter().map(|row| (row.verdict, row.why)));
    all.filter(|(verdict, _)| *verdict != Verdict::Predicted)
        .map(|(verdict, why)| (verdict, why.unwrap_or("")))
        .collect()
}

const FENCES: (Verdict, &str) =
    (Verdict::NotFollowed, "refused after the rules' checks: its fences, or the binding itself");

#[test]
fn requests_of_lunar_lake_are_as_predicted() {
    let seen = lnl(LNL);
    let requests: Vec<_> = seen.requests.iter().map(words).collect();
    assert_eq!(
        requests,
        [
            "create #1 wb system: accepted accepted - predicted",
            "mmap-offset #1 : accepted accepted - predicted",
            "create #2 wc system: accepted accepted - predicted",
            "mmap-offset #2 : accepted accepted - predicted",
            "create - wb system scanout: EINVAL EINVAL scanout-is-wc predicted",
            "create #3 wc system: accepted accepted - predicted",
            "mmap-offset #3 : accepted accepted - predicted",
            "vm-bind #1 map by PAT 1: accepted accepted - predicted",
            "vm-bind #3 map by PAT 0: accepted accepted - predicted",
            "vm-bind #1 map by PAT 0: EINVAL EINVAL cached-not-snooped predicted",
            "vm-bind #1 map by PAT 1: EINVAL ? - not-followed",
            "create #4 wc system defer-backing: accepted accepted - predicted",
            "mmap-offset #4 : accepted accepted - predicted",
        ]
    );
    assert_eq!(noticed(&seen), [FENCES]);
}

#[test]
fn new_pages_are_flushed_and_pages_of_the_pool_are_not() {
    for (trace, platform) in [(LNL, "lnl"), (MTL, "mtl")] {
        let seen = follow(trace, platform, None);
        let flushes: Vec<_> = seen.flushes.iter().map(flush_words).collect();
        assert_eq!(
            flushes,
            [
                "create #2 65536 65536 0: new pages, new pages, predicted",
                "create #3 65536 0 65536: pool, pool, predicted",
                "fault #4 65536 65536 0: new pages, new pages, predicted",
            ],
            "{platform}"
        );
        assert_eq!(noticed(&seen), [FENCES], "{platform}");
        assert!(seen.counts.own_flushes > 0, "{platform}");
    }
    // System memory of a discrete device is write-back.
    let seen = follow(DG2, "dg2", None);
    assert_eq!((seen.flushes.len(), noticed(&seen)), (0, vec![FENCES]));
}

#[test]
fn a_flush_that_is_missing_is_a_mismatch() {
    let seen = lnl(&without_event(LNL, "flushed"));
    let missing = (Verdict::Unseen, "Pages became write-combining, and their lines were not flushed.");
    assert_eq!(noticed(&seen), [FENCES, missing, missing]);
    // Where it is no event of its own, the change of the memory type stands for it.
    let device = xe::by_name("lnl").unwrap().device(KernelVersion::new(7, 2)).unwrap();
    let follower = XeFollower::new(device, None, &["cpa_flush"], Some(0));
    assert_eq!(noticed(&follow_by(&without_event(LNL, "flushed"), follower)), [FENCES]);

    // Pages that neither were flushed nor in the pool.
    let seen = lnl(&without_event(&without_event(LNL, "flushed"), "combining"));
    let missing = (Verdict::Unseen, "The object got pages that were neither flushed nor in the pool.");
    assert_eq!(noticed(&seen)[..2], [FENCES, missing]);
    // They are not known to be missing if the pool is not known.
    let follower = XeFollower::new(device, None, &[], None);
    let [_, unknown] = noticed(&follow_by(LNL, follower))[..] else { panic!("one more") };
    assert_eq!(unknown.0, Verdict::NotFollowed);
    assert!(unknown.1.contains("debugfs"), "{unknown:?}");
    // The closed object's pages are those of the next one.
    let seen = lnl(&changed(LNL, "pooled", 0, "pages=16", "pages=15"));
    assert_eq!(noticed(&seen), [FENCES, missing]);
}

#[test]
fn a_flush_that_is_not_predicted_is_a_mismatch() {
    // The program asked for a cached object, and the kernel flushed its pages.
    let cached =
        changed(LNL, "create", 1, "data={0x0,0x10000,0x1,0x0,0x2,", "data={0x0,0x10000,0x1,0x0,0x1,");
    let seen = lnl(&cached);
    let why = "The kernel flushed pages that stay cached by the rules.";
    assert!(noticed(&seen).contains(&(Verdict::Unpredicted, why)), "{:?}", noticed(&seen));
    // The kernel flushed the system memory of a discrete device.
    assert!(noticed(&follow(LNL, "dg2", None)).contains(&(Verdict::Unpredicted, why)));
    // The rule is left out.
    let seen = follow(LNL, "lnl", Some(Rule::NoCpuLines));
    assert_eq!(noticed(&seen), [FENCES, (Verdict::Unpredicted, why), (Verdict::Unpredicted, why)]);

    // A flush of another kind, inside of a call.
    let line = LNL.lines().find(|line| line.contains("gemco_xe_end_mmap_offset")).unwrap();
    let (head, _) = line.split_once("gemco_xe_").unwrap();
    let flush =
        format!("{head}gemco_sg: (drm_clflush_sg+0x4/0x1 [drm]) pages=0x1 caller=x+0x1/0x2 [xe]\n{line}");
    let seen = lnl(&LNL.replace(line, &flush));
    let [row] = seen.flushes.iter().filter(|row| row.seen == XeShape::Lines).collect::<Vec<_>>()[..] else {
        panic!("one flush")
    };
    assert_eq!((row.call, row.verdict), (Some(XeCall::MapOffset), Verdict::Unpredicted));
}

#[test]
fn another_answer_is_a_mismatch() {
    let answered = |number, from: &str, to: &str| {
        let seen = lnl(&changed(LNL, "end_vm_bind", number, from, to));
        noticed(&seen).into_iter().filter(|it| *it != FENCES).collect::<Vec<_>>()
    };
    let mismatch = |why| (Verdict::Unpredicted, why);
    assert_eq!(answered(1, "ret=-22", "ret=0"), [mismatch("The kernel accepted what the rules refuse.")]);
    let other = "The kernel refused it with another errno than the rules.";
    assert_eq!(answered(1, "ret=-22", "ret=-95"), [mismatch(other)]);
    for memory in ["ret=-12", "ret=-105"] {
        assert_eq!(answered(1, "ret=-22", memory)[0].0, Verdict::NotFollowed);
    }
    // Two operations, and no fence was read.
    let refused = changed(&without_event(LNL, "fence"), "end_vm_bind", 0, "ret=0", "ret=-22");
    let why = "The kernel refused what the rules accept.";
    assert_eq!(noticed(&lnl(&refused))[..2], [mismatch(why), mismatch(why)]);
    let created = lnl(&changed(LNL, "end_create", 2, "ret=-22", "ret=0"));
    assert_eq!(noticed(&created)[0], mismatch("The kernel accepted what the rules refuse."));
    // The rule is left out.
    let seen = follow(LNL, "lnl", Some(Rule::CachedNotSnooped));
    assert_eq!(noticed(&seen), [mismatch(why), FENCES]);
}

/// The rows of the trace's first VM_BIND, which is accepted, and has two operations.
fn first_bind(trace: &str) -> Vec<(String, Option<&'static str>)> {
    let seen = lnl(trace);
    let of_bind: Vec<_> = seen.requests.iter().filter(|row| row.call == XeCall::VmBind).collect();
    let first = of_bind.iter().filter(|row| row.time_ns == of_bind[0].time_ns);
    first.map(|row| (words(row), row.why)).collect()
}

/// Adds to a trace of Lunar Lake a MADVISE of the address space's first mapping, before its file is closed; returns its verdict and reason.
#[track_caller]
fn advised(trace: &str) -> (Verdict, Option<&'static str>) {
    let line = trace.lines().find(|line| line.contains(": gemco_xe_file_closed:")).unwrap();
    let bind = trace.lines().find(|line| line.contains(": gemco_xe_vm_bind:")).unwrap();
    let (head, arguments) = bind.split_once("gemco_xe_").unwrap();
    let caller = &arguments[arguments.find(" dev=").unwrap()..arguments.find(" data=").unwrap()];
    let advice = format!(
        "{head}gemco_xe_madvise: (x+0x4/0x1 [xe]){caller} data={{0x0,0x100000000,0x10000,0x200000001,0x0,0x0,0x0,0x0}}\n\
         {head}gemco_xe_end_madvise: (x+0x4/0x1 [xe] <- y) ret=-22\n{line}"
    );
    let seen = lnl(&trace.replacen(line, &advice, 1));
    let row = seen.requests.iter().find(|row| row.call == XeCall::Madvise).unwrap();
    (row.verdict, row.why)
}

const EARLIER: (Verdict, Option<&str>) =
    (Verdict::NotFollowed, Some("the operations of an earlier VM_BIND in its address space are not known"));

#[test]
fn an_array_that_the_trace_could_not_read_is_not_followed() {
    // The twin.
    assert_eq!(first_bind(LNL).len(), 2);
    assert_eq!(advised(LNL).0, Verdict::Predicted);

    let why = "the array of operations could not be read, is zero, or changed during the call";
    let unread = vec![("vm-bind - 2 operations: accepted ? - not-followed".to_owned(), Some(why))];
    let line = |event: &str| LNL.lines().find(|line| line.contains(&format!(": gemco_xe_{event}:"))).unwrap();
    let (begin, end) = (line("vm_bind"), line("end_vm_bind"));
    let blank = |line: &str| {
        let (head, rest) = line.split_once("} ").unwrap();
        let zero = |word: &str| format!(" {}=0x0", word.split_once('=').unwrap().0);
        format!("{head}}}{}", rest.split_whitespace().map(zero).collect::<String>())
    };
    for trace in [
        // The page was not in memory at the begin, or never: its place in the trace has zeroes...
        LNL.replacen(begin, &blank(begin), 1),
        LNL.replacen(begin, &blank(begin), 1).replacen(end, &blank(end), 1),
        LNL.replacen(end, &blank(end), 1),
        // ...or something older.
        changed(LNL, "vm_bind", 0, "=0x100000000 ", "=0x200000000 "),
        changed(LNL, "end_vm_bind", 0, "=0x100000000 ", "=0x200000000 "),
        // The end has none.
        LNL.replacen(end, end.split_once(" data=").unwrap().0, 1),
    ] {
        assert_eq!(first_bind(&trace), unread);
        assert_eq!(advised(&trace), EARLIER);
    }
}

#[test]
fn a_bind_whose_event_was_cut_is_not_known() {
    let cut = changed(LNL, "vm_bind", 0, " arg4=0x0 ", " arg4= ");
    assert_eq!(lnl(&cut).requests.iter().filter(|row| row.call == XeCall::VmBind).count(), 2);
    assert_eq!(advised(&cut), EARLIER);
}

#[test]
fn more_operations_than_the_trace_shows_have_one_row() {
    let counted = |count: u32| {
        let of = format!("0x{count:x}00000000,");
        changed(&changed(LNL, "vm_bind", 0, "0x200000000,", &of), "end_vm_bind", 0, "0x200000000,", &of)
    };
    let why = Some("a VM_BIND has more operations than the trace shows");
    for count in [13, u32::MAX] {
        let row = format!("vm-bind - {count} operations: accepted ? - not-followed");
        assert_eq!(first_bind(&counted(count)), [(row, why)]);
        assert_eq!(advised(&counted(count)), EARLIER);
    }
    // The twin.
    assert_eq!(first_bind(&counted(2)), first_bind(LNL));
}

#[test]
fn what_may_be_refused_without_a_rule_is_named() {
    // The second VM_BIND is refused by a rule; of another index it is accepted by all rules.
    let refused = |from: &str, to: &str| {
        let accepted = changed(
            LNL,
            "vm_bind",
            1,
            "{0x0,0x1,0x100000000,0x0,0x1,",
            "{0x0,0x1,0x100000000,0x0,0x100000001,",
        );
        let [first, ..] = noticed(&lnl(&changed(&accepted, "vm_bind", 1, from, to)))[..] else {
            panic!("none")
        };
        first
    };
    let mismatch = (Verdict::Unpredicted, "The kernel refused what the rules accept.");
    let fences =
        (Verdict::NotFollowed, "num_syncs: the kernel refuses as many fences before the rules' checks");
    let syncs = |count: u32| refused(",0x100000000,0x7f", &format!(",0x{count:x}00000000,0x7f"));
    assert_eq!([syncs(1), syncs(1024), syncs(1025), syncs(u32::MAX)], [mismatch, mismatch, fences, fences]);
    // It comes before a rule.
    let many = changed(LNL, "vm_bind", 1, ",0x100000000,0x7f", ",0x40100000000,0x7f");
    assert_eq!(noticed(&lnl(&many))[0], fences);

    let operation = "0x0,0x100000001,0x0,0x10000,";
    for (from, to, field) in [
        ("data={0x0,0x1,", "data={0x8,0x1,", "extensions is not 0"),
        ("data={0x0,0x1,", "data={0x0,0x700000001,", "exec_queue_id"),
        (",0x100000000,0x0,", ",0x100000001,0x0,", "pad, pad2 or reserved is"),
        (operation, "0x8,0x100000001,0x0,0x10000,", "extensions of an operation"),
        (operation, "0x0,0x1000100000001,0x0,0x10000,", "pad, pad2 or reserved of an operation"),
    ] {
        let (verdict, why) = refused(from, to);
        assert_eq!(verdict, Verdict::NotFollowed, "{field}");
        assert!(why.starts_with(field), "{why}");
    }
}

#[test]
fn what_is_older_than_the_trace_is_not_followed() {
    let older = |trace: &str| noticed(&lnl(trace));
    let unknown = |why| (Verdict::NotFollowed, why);
    let space = unknown("its address space is older than the trace, or none");
    assert_eq!(older(&without_event(LNL, "end_vm_create")), [space; 4]);
    let object = unknown("its object is older than the trace, or no object");
    assert_eq!(older(&without_event(LNL, "named"))[..3], [object, object, object]);
    // A lost event.
    let (start, end) =
        LNL.split_at(LNL.find("gemco_xe_vm_bind").and_then(|at| LNL[..at].rfind('\n')).unwrap() + 1);
    let lost = lnl(&format!("{start}CPU:0 [LOST 7 EVENTS]\n{end}"));
    assert_eq!(lost.counts.lost, 7);
    assert_eq!(noticed(&lost)[..4], [space; 4]);
    // Another device.
    let device = xe::by_name("lnl").unwrap().device(KernelVersion::new(7, 2)).unwrap();
    let mut follower = XeFollower::new(device, None, &[], Some(0));
    follower.on(1);
    let seen = follow_by(LNL, follower);
    assert_eq!((seen.requests.len(), seen.counts.objects), (0, 0));
}

#[test]
fn a_closed_file_leaves_nothing() {
    // The next file has the same address.
    let again = format!("{LNL}{}", without_event(LNL, "end_vm_create"));
    let seen = lnl(&again);
    let space = (Verdict::NotFollowed, "its address space is older than the trace, or none");
    assert_eq!(noticed(&seen).iter().filter(|it| **it == space).count(), 4);
    let seen = lnl(&without_event(&again, "file_closed"));
    assert_eq!(noticed(&seen).iter().filter(|it| **it == space).count(), 0);
}

#[test]
fn calls_are_counted() {
    let counts = lnl(LNL).counts;
    let of = |call| counts.calls.iter().find(|count| count.call == call).map(|it| (it.calls, it.refused));
    assert_eq!(of(XeCall::Create), Some((5, 1)));
    assert_eq!(of(XeCall::VmBind), Some((3, 2)));
    assert_eq!(of(XeCall::Fault), Some((2, 0)));
    assert_eq!(of(XeCall::Exec), None);
    assert_eq!((counts.objects, counts.requests, counts.flushes), (4, 13, 2));
}

#[test]
fn the_pool_is_read_in_the_form_of_each_kernel() {
    let of_6_12 = "\t --- 0--- --- 1---\nwc\t:        8        0\n\ntotal\t:       24 of   123291\n";
    let of_7_2 = "wc\t:        8        0\n\ntotal node0\t:       24 of   1\ntotal node1\t:        3 of  9\n";
    assert_eq!(pooled_pages(of_6_12), Some(24));
    assert_eq!(pooled_pages(of_7_2), Some(27));
    assert_eq!(pooled_pages("total\t: many\n"), None);
    assert_eq!(pooled_pages(""), None);
}

#[test]
fn a_line_that_was_cut_does_no_harm() {
    let device = xe::by_name("lnl").unwrap().device(KernelVersion::new(7, 2)).unwrap();
    for cut in [1, 4] {
        let mut follower = XeFollower::new(device, None, &[], Some(0));
        for line in LNL.lines() {
            for end in (cut..line.len()).step_by(7).chain([line.len()]) {
                if let Some(seen) = parse(&line.as_bytes()[..end]) {
                    follower.feed(&seen);
                }
            }
        }
        assert!(follower.counts().objects > 0);
    }
}
