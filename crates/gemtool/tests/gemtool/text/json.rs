//! Checks the keys of the JSON documents, with the types of their values and a sample of each, against `json-keys`.
//!
//! A key that went, or whose sample differs, is a change for everyone who reads it: `JSON_VERSION` in render/mod.rs rises then.
//! `WRITE_JSON_KEYS=1 cargo test -p gemtool --test gemtool json` writes the list again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use gem_coherency::platform::Driver;
use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::CacheLevel;
use gem_coherency::xe::CpuCaching;
use gem_coherency_report::{
    DisagreementRow, DomainRow, DriverRule, FindingRow, FlushRow, FlushedRow, PlaceRow, PlatformsRow,
    RefusedRow, TestRow, VerdictRow,
};
use serde_json::{Value, json};

use crate::gemtool;

const LIST: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gemtool/json-keys"));

/// The commands whose documents are listed. Each is deterministic but for [`VARYING`].
const COMMANDS: &[&str] = &[
    "alloc --caching=none --map wb --export --device sim:jsl",
    "alloc --caching=cached --count 3 --device sim:tgl,fault=stray@1",
    "check --kernel 6.1.0 --platform jsl --caller hostile",
    "check --kernel 6.12 --platform glk --caller protocol --rules --mutants --assumptions",
    "check --platform lnl --kernel 7.2 --without wc-drain",
    "completions bash",
    "dispatch examples/shaders/add.spv --device sim:glk --groups 4 --surface 0=256,fill=counter --surface 1=256,dirty=none,fill=ee",
    "eu validate examples/shaders/copy.asm --platform jsl",
    "explain --platform jsl --who kernel --event acquire",
    "explain --platform jsl --level none --writer cpu --reader gpu",
    "explain --platform mtl --pat 2 --writer cpu --map wc --reader cpu --reader-map uc",
    "explain --platform glk --table",
    "explain --platform glk --who kernel --table",
    "info --device sim:jsl",
    "lines examples/shaders/copy.asm --device sim:glk --surface 4096,dirty=all --surface 4096",
    "man",
    "platforms",
    "platforms jsl",
    "platforms --driver xe",
    "platforms lnl",
    "explain --driver xe --platform ptl --caching wb --pat 3",
    "explain --driver xe --platform bmg --object local --pat 6",
    "rules same-cache",
    "run examples/scripts/forgotten-flush.gemco --device sim:glk",
    "run examples/scripts/shader-lines.gemco --device sim:jsl",
    "scanout --device sim:jsl,display=on",
    "verify --quick --device sim:jsl --forget invalidate --seed 7",
];

/// Keys whose values, and those of all keys below them, depend on the machine, the time or the number of objects made before.
const VARYING: &[&str] =
    &["cpu", "jobs", "path", "script", "seconds", "seed", "states_per_second", "text", "wall_seconds"];

/// A key's values: their types, and the first that is neither null nor a container.
#[derive(Debug, Default)]
struct Values {
    types: BTreeSet<&'static str>,
    sample: Option<String>,
}

/// Collects the keys below `path`.
fn collect(path: &str, value: &Value, keys: &mut BTreeMap<String, Values>) {
    let values = keys.entry(path.to_owned()).or_default();
    values.types.insert(match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    });
    match value {
        Value::Null => {}
        Value::Array(elements) => {
            elements.iter().for_each(|element| collect(&format!("{path}[]"), element, keys));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, field)| collect(&format!("{path}/{key}"), field, keys));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            values.sample.get_or_insert_with(|| value.to_string());
        }
    }
}

/// Returns the lines of documents, below their title.
fn lines(title: &str, documents: impl Iterator<Item = Value>) -> String {
    let mut keys = BTreeMap::new();
    documents.for_each(|document| collect("", &document, &mut keys));
    let mut text = format!("{title}\n");
    for (path, Values { types, sample }) in &keys {
        if types.len() == 1 && (types.contains("object") || types.contains("array")) {
            // The keys below it tell.
            continue;
        }
        let types = types.iter().copied().collect::<Vec<_>>().join(" or ");
        let varies = path.split('/').any(|key| VARYING.contains(&key.trim_end_matches("[]")));
        let sample = match sample {
            Some(_) if varies => "  *".to_owned(),
            Some(sample) => format!("  {}", sample.chars().take(60).collect::<String>()),
            None => String::new(),
        };
        writeln!(text, "  {path}  {types}{sample}").unwrap();
    }
    text
}

/// Returns the lines of a command's documents.
fn printed(command: &str) -> String {
    let ran = gemtool(&format!("{command} --json"));
    assert!(matches!(ran.status, Some(0 | 1)), "{command}: {}", ran.err);
    let documents = serde_json::Deserializer::from_str(&ran.out).into_iter::<Value>();
    lines(command, documents.map(|document| document.expect(command)))
}

/// Returns the lines of the rows of `gemtool sanitize`, which need a program that makes mistakes.
fn sanitized() -> String {
    let place = PlaceRow {
        function: Some("fill".to_owned()),
        file: Some("fill.c".to_owned()),
        line: Some(7),
        module: "program".to_owned(),
        address: 0x1139,
    };
    let verdict = VerdictRow {
        needed: 1,
        precautionary: 2,
        unneeded: 3,
        verdict: "needed",
        useless: false,
        needed_on: Some(vec!["glk"]),
        precautionary_on: Some(vec!["jsl"]),
        suppressed: Some("the line's reason".to_owned()),
    };
    let finding = FindingRow {
        kind: gem_coherency_sim::Mistake::StaleRead,
        device: "sim:lnl".to_owned(),
        driver: Driver::Xe,
        agent: Some("gpu".to_owned()),
        handle: Some(1),
        size: 4096,
        level: CacheLevel::None,
        cpu_caching: Some(CpuCaching::Wb),
        refused: Some(RefusedRow { request: "DRM_IOCTL_XE_VM_BIND", errno: "EINVAL".to_owned() }),
        lines: "0-15, 37".to_owned(),
        line_count: 17,
        bytes: [0, 2432],
        times: 1,
        rule: Some(DriverRule::I915(Rule::NonCoherentRead)),
        platforms: vec!["glk"],
        store: vec![place.clone()],
        load: vec![place.clone()],
        request: vec![place.clone()],
        flushed: vec![FlushedRow {
            place: vec![place.clone()],
            lines: "0-15".to_owned(),
            before_store: false,
        }],
        suppressed: Some("the line's reason".to_owned()),
        key: "stale-read GPU none fill".to_owned(),
        known: Some(true),
        halted: true,
        tests: vec!["test".to_owned()],
        test_count: 1,
    };
    let test = TestRow {
        name: "test".to_owned(),
        runs: 1,
        programs: 1,
        unfinished: 1,
        status: 1,
        seconds: 0.5,
        findings: vec![1],
        nothing_judged: Some("Nothing was judged.".to_owned()),
    };
    let document = json!({
        "findings": [finding],
        "flushes": [FlushRow { place: vec![place.clone()], lines: verdict.clone() }],
        "domain_changes": [DomainRow { call: "SET_DOMAIN", place: vec![place], requests: verdict }],
        "tests": [test],
        "platforms": [PlatformsRow {
            platforms: vec!["glk"],
            findings: vec![1],
            refused: vec!["reason".to_owned()],
            not_judged: vec!["reason".to_owned()],
        }],
        "disagreements": [DisagreementRow {
            code: "0x40106451".to_owned(),
            name: Some("DRM_IOCTL_I915_GEM_CREATE"),
            software: Some("ENOSPC".to_owned()),
            kernel: Some("ENOMEM".to_owned()),
            count: 1,
        }],
    });
    lines("sanitize", std::iter::once(document))
}

#[test]
fn the_keys_of_the_documents_are_those_of_the_list() {
    let commands = COMMANDS.iter().map(|command| printed(command));
    let found = commands.chain([sanitized()]).collect::<Vec<_>>().join("\n");
    if std::env::var_os("WRITE_JSON_KEYS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gemtool/json-keys");
        return std::fs::write(path, found).unwrap();
    }
    let went: Vec<_> = LIST.lines().filter(|line| !found.lines().any(|other| other == *line)).collect();
    let new: Vec<_> = found.lines().filter(|line| !LIST.lines().any(|other| other == *line)).collect();
    assert!(
        went.is_empty(),
        "keys went or changed their meaning: raise JSON_VERSION: {went:#?}; now {new:#?}"
    );
    assert!(
        found == LIST,
        "new keys, or another order: write the list again with WRITE_JSON_KEYS=1: {new:#?}"
    );
}

#[test]
fn every_document_has_the_version_first() {
    for command in COMMANDS {
        let out = gemtool(&format!("{command} --json")).out;
        let start: String = out.chars().filter(|c| !c.is_whitespace()).take(12).collect();
        assert_eq!(start, "{\"version\":1", "{command}");
    }
}
