"""Compares reports of `gemtool sanitize` on devices of xe with what crates/programs/runtime/tests/findings/xe/expected plants, and the report of one
run that many platforms judge with those of runs on each of them.

    findings_xe.py report PLATFORM PROGRAM MODE STATUS REPORT      one report, as JSON
    findings_xe.py judged PROGRAM REPORT PLATFORM=STATUS=REPORT... the report of a judged run, and those of runs of the same program
    findings_xe.py --self-test
"""
import json
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "crates/programs/runtime/tests/findings/xe"
COLUMNS = ("kind", "rule", "lines", "found", "refused", "unflushed")


def table():
    rows = (line.split() for line in (FOLDER / "expected").read_text().splitlines() if not line.startswith("#"))
    return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in rows}


def marked(program, mark, mode):
    """Returns the numbers of the source's lines with a comment that begins with `mark`, and names no other mode."""
    lines = (FOLDER / f"{program}.c").read_text().splitlines()
    found = ((number, re.search(rf"/\* {mark}(?:, in the mode (\w+))? \*/", line)) for number, line in enumerate(lines, 1))
    return {number for number, match in found if match and match[1] in (None, mode)}


def own_lines(program, places):
    return [place["line"] for place in places if (place["file"] or "").endswith(f"/{program}.c")]


def problems(platform, program, mode, status, report):
    """Returns what is wrong with a report."""
    row, found = table()[program], report["findings"]
    if platform in row["refused"].split(","):
        return [] if (status, found) == (77, []) else [f"not refused: status {status}, {len(found)} findings"]
    wrong = [] if status == 0 else [f"status {status}"]
    planted = []
    if mode == "wrong" and platform in row["found"].split(","):
        rule, *others = row["rule"].split(",")
        rule = dict(other.split(":") for other in others).get(platform, rule)
        planted = [(row["kind"], rule, row["lines"].replace("-", "", row["lines"] == "-"))]
    seen = [(finding["kind"].replace(" ", "-").lower(), finding["rule"] or "-", finding["lines"]) for finding in found]
    if seen != planted:
        return [*wrong, f"findings {seen}, planted {planted}"]
    for finding in found:
        refused = row["kind"] == "refused-request"
        if bool(finding["refused"]) != refused or finding["driver"] != "xe":
            wrong.append(f"the request is {finding['refused']}, the driver is {finding['driver']}")
        # What the GPU wrote has no store.
        stack = finding["request"] if refused or row["kind"] == "unflushed-gpu-write" or not finding["store"] else finding["store"]
        if not marked(program, "wrong", mode) & set(own_lines(program, stack)):
            wrong.append(f"the call stack has the lines {own_lines(program, stack)}")
        if program not in ("create", "userptr", "gpu_shown") and finding["cpu_caching"] != ("wc" if program == "undrained" else "wb"):
            wrong.append(f"the object is mapped {finding['cpu_caching']}")
    for verdict, mark in [("useless", "useless"), ("needed", "needed")]:
        rows = [flush for flush in report["flushes"] if flush["verdict"] == verdict]
        lines = {line for flush in rows for line in own_lines(program, flush["place"])[:1]}
        expected = marked(program, mark, mode) if program != "useless" or mode == "wrong" else set()
        if lines != expected:
            wrong.append(f"{verdict} flushes at {sorted(lines)}, planted {sorted(expected)}")
    if others := [flush for flush in report["flushes"] if flush["verdict"] == "precautionary"]:
        wrong.append(f"{len(others)} flushes without a verdict")
    return wrong


def mistakes(program, report, platform=None):
    """Returns the findings, of a judged run those on a platform: what is wrong, and where in the source."""
    def of(finding):
        stack = finding["store"] or finding["request"]
        request = finding["refused"] and (finding["refused"]["request"], finding["refused"]["errno"])
        return (finding["kind"], finding["rule"], finding["lines"], request, own_lines(program, stack)[:1])
    return [of(finding) for finding in report["findings"] if platform is None or platform in finding["platforms"]]


def flush_verdicts(program, report, platform=None):
    """Returns the verdicts on flushes by line of the source, of a judged run those on a platform."""
    found = set()
    for flush in report["flushes"]:
        verdict = flush["verdict"]
        if platform:
            needed, precautionary = (platform in flush[key] for key in ("needed_on", "precautionary_on"))
            verdict = "needed" if needed else "precautionary" if precautionary else "useless"
        found |= {(line, verdict) for line in own_lines(program, flush["place"])[:1]}
    return found


def judged_problems(program, report, runs):
    """Returns where a judged run differs from `runs` of the same program: the status and the report by platform."""
    wrong = []
    judged = {name: row for row in report["platforms"] for name in row["platforms"]}
    for platform, (status, own) in runs.items():
        if platform not in judged:
            wrong.append(f"{platform} is no judge")
            continue
        found, there = mistakes(program, report, platform), mistakes(program, own)
        # A request that fails there ends the program, and not the judged run.
        if status:
            found = found[:len(there)]
            if not there and not judged[platform]["refused"]:
                wrong.append(f"{platform}: status {status} there, and no request is refused")
        if found != there:
            wrong.append(f"{platform}: findings {found}, there {there}")
        flushes, of_run = flush_verdicts(program, report, platform), flush_verdicts(program, own)
        if not status and flushes != of_run:
            wrong.append(f"{platform}: flushes {sorted(flushes)}, there {sorted(of_run)}")
    return wrong if runs else ["no run"]


def judged_self_test(own):
    finding, flush = own["findings"][0], own["flushes"][0]
    def judged(on, flushes=()):
        flushes = [{**flush, "needed_on": needed, "precautionary_on": other} for needed, other in flushes]
        row = {"platforms": ["lnl", "bmg"], "refused": []}
        return {"findings": [{**finding, "platforms": on}], "flushes": flushes, "platforms": [row]}
    one = {**own, "flushes": [flush]}
    good = judged(["lnl"], [(["lnl"], ["bmg"])])
    refused = {**good, "platforms": [{"platforms": ["bmg"], "refused": ["the display"]}]}
    assert not judged_problems("scanout", good, {"lnl": (0, one)})
    assert not judged_problems("scanout", refused, {"bmg": (77, {"findings": [], "flushes": []})})
    for report, runs in [
        (good, {}),
        (good, {"ptl": (0, one)}),
        (good, {"bmg": (0, one)}),
        (good, {"bmg": (77, {"findings": [], "flushes": []})}),
        (judged(["lnl"], [([], ["lnl"])]), {"lnl": (0, one)}),
        (judged(["lnl"], [([], [])]), {"lnl": (0, one)}),
        (judged([], [(["lnl"], [])]), {"lnl": (0, one)}),
        (judged(["lnl", "bmg"], [(["bmg"], [])]), {"bmg": (0, {**one, "findings": []})}),
        (judged(["lnl"], [(["lnl"], [])]), {"lnl": (0, {**one, "findings": [{**finding, "lines": "8-12"}]})}),
    ]:
        assert judged_problems("scanout", report, runs), (report, runs)


def self_test():
    place = {"file": "/x/scanout.c", "line": min(marked("scanout", "wrong", "wrong")), "function": "main"}
    flushes = [{"verdict": "needed", "place": [{**place, "line": line}]} for line in marked("scanout", "needed", "wrong")]
    finding = {"kind": "stale read", "rule": "display-reads-memory", "lines": "8-13", "refused": None, "driver": "xe", "cpu_caching": "wb",
               "store": [place], "request": [place]}
    good = {"findings": [finding], "flushes": flushes}
    assert not problems("lnl", "scanout", "wrong", 0, good)
    assert not problems("bmg", "scanout", "wrong", 77, {**good, "findings": []})
    for platform, mode, status, report in [
        ("lnl", "right", 0, good),
        ("lnl", "wrong", 1, good),
        ("bmg", "wrong", 0, good),
        ("lnl", "wrong", 0, {**good, "findings": []}),
        ("lnl", "wrong", 0, {**good, "findings": [{**finding, "rule": "cached-not-snooped"}]}),
        ("lnl", "wrong", 0, {**good, "findings": [{**finding, "lines": "8-12"}]}),
        ("lnl", "wrong", 0, {**good, "findings": [{**finding, "driver": "i915"}]}),
        ("lnl", "wrong", 0, {**good, "findings": [{**finding, "cpu_caching": None}]}),
        ("lnl", "wrong", 0, {**good, "findings": [{**finding, "store": [{**place, "line": 1}]}]}),
        ("lnl", "wrong", 0, {**good, "flushes": flushes[1:]}),
        ("lnl", "wrong", 0, {**good, "flushes": [{**flush, "verdict": "useless"} for flush in flushes]}),
        ("lnl", "wrong", 0, {**good, "flushes": [*flushes, {**flushes[0], "verdict": "precautionary"}]}),
    ]:
        assert problems(platform, "scanout", mode, status, report), (platform, mode, status, report)
    judged_self_test(good)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--self-test"]:
            self_test()
            found = []
        case ["report", platform, program, mode, status, path]:
            found = problems(platform, program, mode, int(status), json.loads(Path(path).read_text()))
        case ["judged", program, path, *of_runs]:
            runs = {}
            for run in of_runs:
                platform, status, own = run.rsplit("=", 2)
                runs[platform] = (int(status), json.loads(Path(own).read_text()))
            found = judged_problems(program, json.loads(Path(path).read_text()), runs)
        case _:
            sys.exit(__doc__)
    if found:
        sys.exit("\n".join(found))
