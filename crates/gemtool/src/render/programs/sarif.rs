//! The report of `gemtool sanitize` as SARIF 2.1.0, the form in which code hosts and editors take findings (OASIS).

use gem_coherency_report::{
    DomainRow, FindingRow, FlushRow, FlushedRow, PlaceRow, Sanitized, USELESS_FLUSH, USELESS_SET_DOMAIN,
};
use serde_json::{Value, json};

use crate::render::counted;
use crate::render::programs::frames::first_in_source;
use crate::render::programs::sanitize::{numbered_lines, short};

/// Returns the document of a report.
pub fn of(report: &Sanitized) -> Value {
    let notes = useless(report).map(useless_flush).chain(domain_changes(report).map(domain_change));
    let results: Vec<Value> = report.findings.iter().map(finding).chain(notes).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "gemtool sanitize",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules(report),
            } },
            "results": results,
            "invocations": [invocation(report)],
            "properties": { "coverage": report.coverage },
        }],
    })
}

/// Returns the run of the program (3.20); that nothing was judged is a notification of the tool.
fn invocation(report: &Sanitized) -> Value {
    let notification = |sentence: &String| {
        json!({
            "level": "warning",
            "descriptor": { "id": "nothing-judged" },
            "message": { "text": sentence },
        })
    };
    json!({
        "executionSuccessful": true,
        "exitCode": report.status,
        "toolExecutionNotifications": report.nothing_judged.iter().map(notification).collect::<Vec<_>>(),
    })
}

/// Returns the kinds of the findings, as SARIF's rules.
fn rules(report: &Sanitized) -> Vec<Value> {
    let mut kinds: Vec<&str> = report.findings.iter().map(|finding| finding.kind.name()).collect();
    kinds.extend(useless(report).map(|_| USELESS_FLUSH));
    kinds.extend(domain_changes(report).map(|_| USELESS_SET_DOMAIN));
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().map(|kind| json!({ "id": id(kind), "shortDescription": { "text": kind } })).collect()
}

fn useless(report: &Sanitized) -> impl Iterator<Item = &FlushRow> {
    report.flushes.iter().filter(|flush| flush.lines.useless)
}

fn domain_changes(report: &Sanitized) -> impl Iterator<Item = &DomainRow> {
    report.domain_changes.iter().filter(|change| change.requests.useless)
}

fn domain_change(change: &DomainRow) -> Value {
    let text =
        format!("{USELESS_SET_DOMAIN}: {} of {} changed nothing", change.requests.unneeded, change.call);
    json!({
        "ruleId": id(USELESS_SET_DOMAIN),
        "level": "note",
        "message": { "text": text },
        "locations": first_in_source(&change.place).map(location).into_iter().collect::<Vec<_>>(),
        "stacks": [{ "message": { "text": "made in" }, "frames": frames(&change.place) }],
        "suppressions": suppressions(change.requests.suppressed.as_ref()),
    })
}

/// Returns the suppressions of a result (3.27.23): none, or one of the user's file.
fn suppressions(reason: Option<&String>) -> Value {
    reason.iter().map(|reason| json!({ "kind": "external", "justification": reason })).collect()
}

fn frames(stack: &[PlaceRow]) -> Vec<Value> {
    stack.iter().map(|place| json!({ "location": location(place) })).collect()
}

fn useless_flush(flush: &FlushRow) -> Value {
    let text =
        format!("{USELESS_FLUSH}: {} that no agent would have missed", counted(flush.lines.unneeded, "line"));
    json!({
        "ruleId": id(USELESS_FLUSH),
        "level": "note",
        "message": { "text": text },
        "locations": first_in_source(&flush.place).map(location).into_iter().collect::<Vec<_>>(),
        "stacks": [{ "message": { "text": "flushed" }, "frames": frames(&flush.place) }],
        "suppressions": suppressions(flush.lines.suppressed.as_ref()),
    })
}

fn id(kind: &str) -> String {
    kind.to_lowercase().replace(' ', "-")
}

fn finding(finding: &FindingRow) -> Value {
    let agent = finding.agent.as_ref().map_or_else(String::new, |agent| format!(" by the {agent}"));
    let handle = finding.handle.map_or_else(|| "an object".to_owned(), |handle| format!("BO {handle}"));
    let rule = finding.rule.map_or_else(String::new, |rule| format!(": {}", rule.reason()));
    let what = match &finding.refused {
        Some(refused) => format!("{}, {}, about", short(refused.request), refused.errno),
        None => format!("{} of", numbered_lines(&finding.lines)),
    };
    let size = counted(finding.size, "byte");
    let text = format!("{}{agent}: {what} {handle} ({size}){rule}", finding.kind);
    let stack = [&finding.store, &finding.load, &finding.request].into_iter().find(|stack| !stack.is_empty());
    let at = stack.and_then(|stack| first_in_source(stack));
    let locations: Vec<Value> = at.map(location).into_iter().collect();
    let level = if finding.kind.is_certain() { "error" } else { "warning" };
    json!({
        "ruleId": id(finding.kind.name()),
        "level": level,
        "message": { "text": text },
        "locations": locations,
        "stacks": [
            { "message": { "text": "first store to the page" }, "frames": frames(&finding.store) },
            { "message": { "text": "loaded" }, "frames": frames(&finding.load) },
            { "message": { "text": "seen in" }, "frames": frames(&finding.request) },
        ],
        "relatedLocations": finding.flushed.iter().filter_map(flushed).collect::<Vec<_>>(),
        "occurrenceCount": finding.times,
        "suppressions": suppressions(finding.suppressed.as_ref()),
    })
}

/// Returns the place of a flush, with its lines as a message; `None` without one.
fn flushed(row: &FlushedRow) -> Option<Value> {
    let mut at = location(row.place.last()?);
    at["message"] = json!({ "text": format!("flushed {}", numbered_lines(&row.lines)) });
    Some(at)
}

fn location(place: &PlaceRow) -> Value {
    let logical = json!([{ "fullyQualifiedName": place.function.as_deref().unwrap_or("?") }]);
    match (&place.file, place.line) {
        (Some(file), Some(line)) => json!({
            "physicalLocation": { "artifactLocation": { "uri": file }, "region": { "startLine": line } },
            "logicalLocations": logical,
        }),
        _ => json!({
            "physicalLocation": {
                "artifactLocation": { "uri": place.module },
                "address": { "absoluteAddress": place.address },
            },
            "logicalLocations": logical,
        }),
    }
}
