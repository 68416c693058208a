//! Tests of the parser: accepted text, refused text, and the places of errors.

use proptest::prelude::*;

use super::super::shader::{BoundBo, Dispatch, Touch};
use super::super::statement::{Claim, Edge, Fact, Making, Range, Statement, Use, Way};
use super::super::{Compare, Pattern, Verb};
use super::*;
use crate::dispatch::{Choices, Groups};
use gem_coherency::platform::Caps;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode, MocsClass};

/// Statements that define the names used by the tested lines.
const MADE: &str = "a = alloc 4KiB\nb = alloc 4KiB\nfd = export a\n";
/// These, and a device file.
const OPENED: &str = "a = alloc 4KiB\nfd = export a\nf = open\n";

/// Parses the last line of a script, after the names of [`MADE`].
#[track_caller]
fn said(line: &str) -> Step<'static> {
    let script = parse(&format!("{MADE}{line}")).unwrap_or_else(|error| panic!("{error}"));
    Step { line: "", ..script.steps().last().unwrap() }
}

/// Asserts that `line` is refused at `column`, over `columns`, with every one of `parts` in the message.
#[track_caller]
fn refused(line: &str, column: usize, columns: usize, parts: &[&str]) {
    let error = parse(&format!("{MADE}{line}")).expect_err(line);
    assert_eq!(error.place(), Place { line: 4, column, columns }, "{error}");
    for part in parts {
        assert!(error.why().contains(part), "'{part}' is not in: {error}");
    }
    let excerpt: Vec<_> = error.excerpt().lines().collect();
    assert_eq!(excerpt[1].len(), excerpt[1].find('^').unwrap() + columns, "{error}");
}

fn name(script: &Script, letters: &str) -> Name {
    Name(script.names.iter().position(|name| name == letters).unwrap())
}

#[track_caller]
fn does(line: &str, expected: impl FnOnce(Name, Name, Name) -> Statement) {
    let script = parse(MADE).unwrap();
    let expected = expected(name(&script, "a"), name(&script, "b"), name(&script, "fd"));
    assert_eq!(said(line).action, Action::Do(expected), "{line}");
}

#[track_caller]
fn claims(line: &str, expected: impl FnOnce(Name, Name) -> Claim) {
    let script = parse(MADE).unwrap();
    let claim = expected(name(&script, "a"), name(&script, "b"));
    assert_eq!(
        said(&format!("expect {line}")).action,
        Action::Expect { negated: false, claim: claim.clone() }
    );
    assert_eq!(said(&format!("expect not {line}")).action, Action::Expect { negated: true, claim });
}

const A5: fn() -> Pattern = || Pattern::Bytes(vec![0xa5]);

#[test]
fn every_statement_is_read() {
    let bytes = |offset, len| Range::Bytes { offset, len };
    does("map a gtt", |a, _, _| Statement::Map(a, MmapMode::Gtt));
    does("write a 0..4K fill=0xa5", |bo, _, _| Statement::Write {
        bo,
        range: bytes(0, 4096),
        fill: A5(),
        way: Way::Guard,
    });
    does("write a 100+28 raw=wc fill=a5", |bo, _, _| Statement::Write {
        bo,
        range: bytes(100, 28),
        fill: A5(),
        way: Way::Raw(Some(MmapMode::Wc)),
    });
    does("pwrite a all fill=counter", |bo, _, _| Statement::Write {
        bo,
        range: Range::All,
        fill: Pattern::Counter,
        way: Way::Request,
    });
    let read = |way, expect| move |bo, _, _| Statement::Read { bo, range: Range::All, expect, way };
    does("read a all", read(Way::Guard, None));
    does("read a all raw expect=a5", read(Way::Raw(None), Some(A5())));
    does("pread a all expect=a5", read(Way::Request, Some(A5())));
    does("gpu-write b 0+0x40 fill=a5 mocs=uncached", |_, bo, _| Statement::GpuWrite {
        bo,
        range: bytes(0, 64),
        fill: A5(),
        mocs: MocsClass::Uncached,
    });
    does("submit a access=write b mocs=bypass-llc", |a, b, _| {
        Statement::Submit(vec![
            Use { bo: a, access: Access::Write, mocs: MocsClass::PageTable },
            Use { bo: b, access: Access::Read, mocs: MocsClass::BypassLlc },
        ])
    });
    does(
        "dispatch x/y.spv 0=a mocs=uncached 1.2=b groups=4,2 no-hoist-discard raw entry=f spec=3=-1",
        |a, b, _| {
            let mocs = [MocsClass::Uncached, MocsClass::PageTable];
            let places = ["0", "1.2"].map(|place| place.parse().unwrap());
            let one = |number: usize, bo| BoundBo { place: places[number], bo, mocs: mocs[number] };
            Statement::Dispatch(Box::new(Dispatch {
                module: "x/y.spv".into(),
                bound: vec![one(0, a), one(1, b)],
                groups: Some(Groups([4, 2, 1])),
                extent: None,
                choices: Choices {
                    entry: "f".to_owned(),
                    stage: None,
                    constants: vec!["3=-1".parse().unwrap()],
                    hoist_discard: false,
                },
                is_raw: true,
            }))
        },
    );
    does("scanout a", |a, _, _| Statement::Scanout(a));
    does("off-screen a", |a, _, _| Statement::OffScreen(a));
    does("show a", |a, _, _| Statement::Show(a));
    does("dirtyfb a", |a, _, _| Statement::DirtyFb(a));
    does("sw-finish a", |a, _, _| Statement::SwFinish(a));
    for (word, edge) in [("start", Edge::Start), ("end", Edge::End)] {
        does(&format!("sync fd {word} write"), |_, _, dma_buf| Statement::Sync {
            dma_buf,
            edge,
            access: Access::Write,
        });
    }
    does("set-caching a display", |a, _, _| Statement::SetCaching(a, CachingMode::Display));
    does("domain a cpu write", |bo, _, _| Statement::Domain {
        bo,
        domain: Domains::CPU,
        access: Access::Write,
    });
    does("flush a", |a, _, _| Statement::Flush(a));
    does("wait a", |a, _, _| Statement::Wait(a));
    does("close fd", |_, _, fd| Statement::Close(fd));
    for (line, power) in
        [("suspend", Power::Suspend), ("hibernate", Power::Hibernate), ("resume", Power::Resume)]
    {
        does(line, |_, _, _| Statement::Power(power));
    }
}

#[test]
fn created_objects_have_names() {
    let script =
        parse("x-1 = alloc 64KiB map=wb caching=none # a BO\n\n\t fd = export x-1 \r\ny = import fd")
            .unwrap();
    let steps: Vec<_> = script.steps().collect();
    let [alloc, export, import] = &steps[..] else { panic!("{script:?}") };
    let Action::Make(x, Making::Alloc { size: 65536, caching, map, pat: None, on: None }) = alloc.action
    else {
        panic!("{alloc:?}")
    };
    assert_eq!((caching, map, script.name(x)), (Some(CachingMode::None), Some(MmapMode::Wb), "x-1"));
    assert_eq!(alloc.text, "x-1 = alloc 64KiB map=wb caching=none");
    let Action::Make(fd, Making::Export(from)) = export.action else { panic!("{export:?}") };
    assert_eq!((from, export.place), (x, Place { line: 3, column: 3, columns: 2 }));
    assert!(matches!(import.action, Action::Make(_, Making::Import { dma_buf, on: None }) if dma_buf == fd));
    assert!(matches!(said("c = alloc 4K pat=3").action, Action::Make(_, Making::Alloc { pat: Some(3), .. })));
}

#[test]
fn objects_are_made_on_device_files() {
    let making = |line: &str| {
        let script = parse(&format!("{OPENED}{line}")).unwrap_or_else(|error| panic!("{error}"));
        let Action::Make(_, making) = script.steps().last().unwrap().action else { panic!("{line}") };
        (making, name(&script, "fd"), name(&script, "f"))
    };
    let (alloc, _, f) = making("c = alloc 4K on=f");
    assert!(matches!(alloc, Making::Alloc { on: Some(on), .. } if on == f));
    let (import, fd, f) = making("c = import fd on=f");
    assert_eq!(import, Making::Import { dma_buf: fd, on: Some(f) });
    assert_eq!(making("c = userptr 8K").0, Making::Userptr { size: 8192, on: None });
    let (userptr, _, f) = making("c = userptr 8K on=f");
    assert_eq!(userptr, Making::Userptr { size: 8192, on: Some(f) });
    refused("c = userptr", 13, 1, &["a size ('64KiB') is missing"]);
    refused("c = userptr 4K map=wb", 16, 6, &["unknown option 'map=wb'", "on=FILE"]);
    assert_eq!(making("c = open").0, Making::Open(None));
    assert_eq!(making("c = open sim:tgl").0, Making::Open(Some("sim:tgl".to_owned())));
    refused("c = alloc 4K on=a", 17, 1, &["'a' is a BO (line 1), not a device file"]);
    refused("c = import fd on=x", 18, 1, &["unknown name 'x'", "'f = open' opens one"]);
    refused("c = import fd at=x", 15, 4, &["unknown option 'at=x'", "on=FILE"]);
    refused("c = open sim:tgl b", 18, 1, &["'b' is one word too many"]);
    refused("open", 1, 4, &["needs a name: 'NAME = open'"]);
    let close = parse(&format!("{OPENED}close f")).unwrap_err();
    assert!(close.why().contains("'f' is a device file (line 3), not a BO or a dma-buf"), "{close}");
}

#[test]
fn every_claim_is_read() {
    claims("verdict a flush", |bo, _| Claim::Verdict {
        bo,
        verdict: Verdict::Flush,
        lines: None,
        rule: None,
    });
    claims("verdict a none rule=llc-coherent lines=0", |bo, _| Claim::Verdict {
        bo,
        verdict: Verdict::NotNeeded,
        lines: Some(0),
        rule: Some(Rule::LlcCoherent),
    });
    claims("caching a cached", |a, _| Claim::Caching(a, CachingMode::Cached));
    claims("level a wt", |a, _| Claim::Level(a, gem_coherency::vocabulary::CacheLevel::Wt));
    let count = |compare, number| super::super::Count { compare, number };
    claims("dirty a == 64", |a, _| Claim::Dirty(a, count(Compare::Equal, 64)));
    claims("stale a <= 0x40", |a, _| Claim::Stale(a, count(Compare::AtMost, 64)));
    claims("kernel-flushes a >= 1 rule=exec-flush", |bo, _| Claim::KernelFlushes {
        bo,
        count: count(Compare::AtLeast, 1),
        rule: Some(Rule::ExecFlush),
    });
    claims("gpu-reads a all a5 mocs=bypass-llc", |bo, _| Claim::GpuReads {
        bo,
        range: Range::All,
        pattern: A5(),
        mocs: MocsClass::BypassLlc,
    });
    claims("display-reads b all a5", |_, bo| Claim::DisplayReads { bo, range: Range::All, pattern: A5() });
    for (word, touch) in [("read", Touch::Read), ("written", Touch::Written), ("stale", Touch::Stale)] {
        claims(&format!("lines-{word} a == 64"), |bo, _| Claim::Lines {
            bo,
            touch,
            count: count(Compare::Equal, 64),
        });
    }
    claims("same a b", Claim::Same);
}

#[test]
fn expect_error_takes_statements_that_act_or_create() {
    let script = parse(MADE).unwrap();
    let attempt = Attempt::Do(Statement::SetCaching(name(&script, "a"), CachingMode::Display));
    assert_eq!(
        said("expect error ENODEV: set-caching a display").action,
        Action::ExpectError { errno: Errno::ENODEV, attempt }
    );
    assert!(matches!(
        said("expect error EINVAL: alloc 0").action,
        Action::ExpectError { errno: Errno::EINVAL, attempt: Attempt::Make(Making::Alloc { size: 0, .. }) }
    ));
}

#[test]
fn conditions_are_of_the_device() {
    let step = said("where !llc software kernel>=6.1 platform=jsl map=gtt: flush a");
    let found: Vec<_> = step.conditions.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["!llc", "software", "kernel>=6.1", "platform=jsl", "map=gtt"]);
    assert_eq!(step.text, "flush a");
    let needs = Condition { negated: false, fact: Fact::Cap(Caps::LLC_BYPASS_MOCS) };
    assert_eq!(said("needs llc-bypass-mocs").action, Action::Needs(vec![needs]));
}

use super::super::statement::{Condition, Power};

#[test]
fn an_unknown_word_is_reported_at_its_place() {
    refused("alok 4KiB", 1, 4, &["unknown statement 'alok'", "alloc, userptr, export, import"]);
    refused("  map a wx", 9, 2, &["unknown map mode 'wx'", "wb, wc, uc, gtt, fixed"]);
    refused("c = alloc 4K caching=cachd", 22, 5, &["unknown caching mode 'cachd'", "none, cached, display"]);
    refused(
        "c = alloc 4K cache=none",
        14,
        10,
        &["unknown option 'cache=none'", "caching=MODE, map=MODE, pat=INDEX, on=FILE"],
    );
    refused("c = alloc 4K map", 14, 3, &["unknown option 'map'"]);
    refused("domain a gpu read", 10, 3, &["unknown domain 'gpu'", "cpu, gtt, wc"]);
    refused("domain a cpu rw", 14, 2, &["unknown access 'rw'"]);
    refused("sync a start read", 6, 1, &["'a' is a BO (line 1), not a dma-buf"]);
    refused("sync fd begin read", 9, 5, &["unknown end of an access 'begin'", "start, end"]);
    refused("sync fd start rw", 15, 2, &["unknown access 'rw'", "read, write"]);
    refused("submit a mocs=l3", 15, 2, &["unknown MOCS class 'l3'"]);
    refused("submit a rw=1", 10, 4, &["unknown option 'rw=1'", "access=read"]);
    refused("expect flushed a", 8, 7, &["unknown claim 'flushed'", "verdict, caching"]);
    refused("expect verdict a flsh", 18, 4, &["unknown verdict 'flsh'"]);
    refused("expect verdict a flush rule=exec-flsh", 29, 9, &["unknown rule", "exec-flush", "gemtool rules"]);
    refused("expect dirty a = 4", 16, 1, &["unknown comparison '='", "==, >=, <="]);
    refused("expect error EFOO: flush a", 14, 4, &["unknown errno 'EFOO'"]);
    refused("where llk: flush a", 7, 3, &["unknown condition 'llk'", "software", "llc-bypass-mocs"]);
    refused("where platform=foo: flush a", 16, 3, &["unknown platform 'foo'"]);
    refused("needs kernel>=six", 15, 3, &["'six' is not a kernel version"]);
    refused("write a all fill=xyz", 18, 3, &["'xyz'", "counter"]);
}

#[test]
fn a_bad_number_is_reported_at_its_place() {
    refused("c = alloc 64KB", 11, 4, &["'64KB': not a size"]);
    refused("c = alloc 99999999999999999999", 11, 20, &["2^64 - 1"]);
    refused("read a 8..4", 11, 1, &["ends at 4, before it begins at 8"]);
    refused("read a 0..4KB", 11, 3, &["'4KB': not a size"]);
    refused("read a 18446744073709551615+2", 29, 1, &["beyond 2^64 - 1"]);
    refused("read a 4096", 8, 4, &["'4096' is not a range"]);
    refused("read a ..", 8, 1, &["not a size"]);
    refused("c = alloc 4K pat=wb", 18, 2, &["'wb': not a number"]);
    refused("c = alloc 4K pat=4294967296", 18, 10, &["4294967296 is not a PAT index"]);
    refused("c = alloc 4K pat=0 caching=none", 28, 4, &["'caching=MODE' or 'pat=INDEX'"]);
    refused("c = alloc 4K pat=0 pat=0", 20, 5, &["'pat' is given twice"]);
    refused("expect dirty a == many", 19, 4, &["'many': not a number"]);
    refused("expect verdict a flush lines=1K", 30, 2, &["not a number"]);
}

#[test]
fn a_wrong_word_of_a_dispatch_is_reported_at_its_place() {
    refused("dispatch", 10, 1, &["the file of a SPIR-V module", "is missing"]);
    refused("dispatch x 0=c", 14, 1, &["unknown name 'c'"]);
    refused("dispatch x 0=fd", 14, 2, &["'fd' is a dma-buf"]);
    refused("dispatch x 0=a 0=b", 16, 3, &["'0' is given twice"]);
    refused("dispatch x mocs=uncached 0=a", 12, 13, &["'mocs=' applies to the surface before it"]);
    refused("dispatch x 0=a mocs=l3", 21, 2, &["unknown MOCS class 'l3'"]);
    refused("dispatch x 0=a mocs=uncached mocs=uncached", 30, 13, &["'mocs' is given twice"]);
    refused("dispatch x groups=1,2,3,4", 19, 7, &["4 numbers"]);
    refused("dispatch x extent=4", 19, 1, &["WIDTHxHEIGHT"]);
    refused("dispatch x spec=1", 17, 1, &["ID=VALUE"]);
    refused("dispatch x spec=1=2 spec=1=3", 21, 8, &["'spec' is given twice"]);
    refused("dispatch x raw raw", 16, 3, &["'raw' is given twice"]);
    refused("dispatch x keep", 12, 4, &["unknown option 'keep'", "no-hoist-discard, raw"]);
    refused("dispatch x a=b", 12, 3, &["unknown option 'a=b'", "BINDING=BO"]);
    refused("expect lines-read a", 21, 1, &["a comparison", "is missing"]);
}

#[test]
fn a_missing_word_is_reported_after_the_last_word() {
    refused("flush", 7, 1, &["the name of a BO is missing"]);
    refused("c =", 5, 1, &["'alloc', 'userptr', 'export', 'import' or 'open' is missing"]);
    refused("c = alloc", 11, 1, &["a size ('64KiB') is missing"]);
    refused("write a", 9, 1, &["a range", "is missing"]);
    refused("write a all", 13, 1, &["'fill=PATTERN' is missing"]);
    refused("domain a cpu  # write", 14, 1, &["'read' or 'write' is missing"]);
    refused("sync fd", 9, 1, &["'start' or 'end' is missing"]);
    refused("sync fd end", 13, 1, &["'read' or 'write' is missing"]);
    refused("dirtyfb", 9, 1, &["the name of a BO is missing"]);
    refused("submit", 8, 1, &["the name of a BO is missing"]);
    refused("expect", 8, 1, &["what is expected", "is missing"]);
    refused("expect dirty a ==", 19, 1, &["a number is missing"]);
    refused("expect error", 14, 1, &["an errno", "is missing"]);
    refused("expect error EINVAL:", 22, 1, &["a statement is missing"]);
    refused("where llc flush a", 11, 5, &["unknown condition 'flush'"]);
    refused("where llc", 11, 1, &["a condition with a colon", "is missing"]);
    refused("where llc:", 12, 1, &["a statement is missing"]);
    refused("needs", 7, 1, &["a condition", "is missing"]);
}

#[test]
fn a_word_too_many_is_refused() {
    refused("flush a b", 9, 1, &["'b' is one word too many"]);
    refused("suspend now", 9, 3, &["'now' is one word too many"]);
    refused("expect same a b a", 17, 1, &["'a' is one word too many"]);
    refused("write a all fill=a5 fill=a5", 21, 7, &["'fill' is given twice"]);
    refused("submit a access=read access=read", 22, 11, &["'access' is given twice"]);
    refused("pread a all raw", 13, 3, &["unknown option 'raw'", "expect=PATTERN"]);
}

#[test]
fn a_name_is_given_once_and_before_it_is_used() {
    refused("flush x", 7, 1, &["unknown name 'x'", "known: a, b"]);
    refused("sw-finish fd", 11, 2, &["'fd' is a dma-buf (line 3), not a BO"]);
    refused("flush fd", 7, 2, &["'fd' is a dma-buf (line 3), not a BO"]);
    refused("c = import a", 12, 1, &["'a' is a BO (line 1), not a dma-buf"]);
    refused("close x", 7, 1, &["unknown name 'x'", "known: a, b, fd"]);
    refused("a = alloc 4KiB", 1, 1, &["'a' already names a BO (line 1)"]);
    refused("read = alloc 4KiB", 1, 4, &["'read' is a statement, not a name"]);
    refused("1a = alloc 4KiB", 1, 2, &["'1a' is not a name"]);
    refused("ä = alloc 4KiB", 1, 1, &["'ä' is not a name"]);
    refused("alloc 4KiB", 1, 5, &["needs a name: 'NAME = alloc 4KiB'"]);
    refused("c=alloc 4KiB", 1, 7, &["blanks are needed around '='"]);
    refused("c = flush a", 5, 5, &["no result to name", "alloc, userptr, export, import, open"]);
    refused("where llc: c = alloc 4KiB", 12, 1, &["begin the script with 'needs'"]);
    let first = parse("flush x").unwrap_err();
    assert!(first.why().contains("'a = alloc 64KiB' defines one"), "{first}");
}

#[test]
fn prefixes_nest_only_once() {
    refused("where llc: where llc: flush a", 12, 5, &["one 'where' is enough"]);
    refused("expect error EINVAL: expect same a b", 22, 6, &["cannot be refused"]);
    refused("expect error EINVAL set-caching a none", 14, 6, &["not an errno with a colon"]);
    refused("expect error EINVAL: c = alloc 4K", 22, 1, &["unknown statement 'c'"]);
}

#[test]
fn bytes_that_are_no_text_are_named_with_their_place() {
    let error = parse_bytes(b"a = alloc 4KiB\n\xc3\xa4 \xff\n").unwrap_err();
    assert_eq!(error.place(), Place { line: 2, column: 3, columns: 1 });
    assert!(error.why().contains("0xff"), "{error}");
    let error = parse("fl\0ush\u{1b}[31m x").unwrap_err().to_string();
    assert!(!error.contains(['\0', '\u{1b}']), "{error:?}");
}

#[test]
fn a_script_may_be_empty_and_may_be_long_but_not_longer() {
    assert_eq!(parse("").unwrap().len(), 0);
    assert_eq!(parse(" # nothing\n\n\t\n#").unwrap().len(), 0);
    let many = format!("a = alloc 4KiB\n{}", "flush a\n".repeat(100_000));
    assert_eq!(parse(&many).unwrap().len(), 100_001);
    assert!(parse(&"#".repeat(MAX_BYTES)).is_ok());
    assert!(parse(&"#".repeat(MAX_BYTES + 1)).unwrap_err().why().contains("64 MiB"));
    let wide = format!("flush {}", "x".repeat(1 << 20));
    assert!(parse(&wide).unwrap_err().to_string().len() < 1000, "a message is short, whatever the word");
}

/// Words that appear in scripts, and some that do not.
fn word() -> impl Strategy<Value = String> {
    let verbs: Vec<String> = Verb::ALL.iter().map(ToString::to_string).collect();
    let others = "a b fd = start end not error all 0..64 100+28 fill=a5 raw raw=wc expect=0x00 caching=none map=wb cpu wb read \
                  write verdict flush none lines=1 rule=llc-coherent dirty == 64 gpu-reads same EINVAL: llc: !llc \
                  software: 4KiB access=write mocs=bypass-llc kernel>=6.1 platform=jsl: # \n \0 .. + = : ! \u{feff}";
    let others: Vec<String> = others.split(' ').map(str::to_owned).collect();
    prop_oneof![
        4 => proptest::sample::select(verbs),
        8 => proptest::sample::select(others),
        1 => "\\PC{0,8}",
        1 => any::<u64>().prop_map(|number| number.to_string()),
    ]
}

proptest! {
    #[test]
    fn any_bytes_parse_or_return_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = parse_bytes(&bytes) {
            prop_assert!(error.place().line >= 1 && error.place().column >= 1 && !error.why().is_empty());
        }
    }

    #[test]
    fn a_place_lies_in_the_text_or_right_after_it(words in proptest::collection::vec(word(), 0..60)) {
        let text = format!("{MADE}{}", words.join(" "));
        if let Err(error) = parse(&text) {
            let Place { line, column, columns } = error.place();
            let said = text.lines().nth(line - 1).unwrap();
            prop_assert!(columns >= 1);
            prop_assert!(column + columns <= said.chars().count() + 3, "{error}");
        }
    }
}
