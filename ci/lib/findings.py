"""Compares reports of `gemtool sanitize` with what crates/programs/runtime/tests/findings/expected plants.

    findings.py report PLATFORM PROGRAM MODE STATUS REPORT   one report, as JSON
    findings.py judged RUN PROGRAM MODE REPORT               a run that is judged by many platforms
    findings.py sarif REPORT KIND|-                          the fields that SARIF 2.1.0 requires
    findings.py svg PROGRAM PICTURE                          the picture of a finding on glk
    findings.py --self-test
"""
import json
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "crates/programs/runtime/tests/findings"
COLUMNS = ("kind", "lines", "found", "refused", "old", "unflushed")
# Programs whose bytes the GPU or a system call writes, or that store where nothing is watched.
WITHOUT_STORE = ("stale_cpu_read", "missing_invalidate", "async_map", "written_out", "request_memory", "blocked_out", "read_into", "received",
                 "transfers", "blocked", "moved", "let_go_clean")


def table():
    rows = (line.split() for line in (FOLDER / "expected").read_text().splitlines() if not line.startswith("#"))
    return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in rows}


def marked(program, mark):
    """Returns the numbers of the source's lines with a comment that begins with `mark`, and the comments."""
    lines = (FOLDER / f"{program}.c").read_text().splitlines()
    found = ((number, re.search(rf"/\* ({mark}\b.*?) \*/", line)) for number, line in enumerate(lines, 1))
    return {number: match[1] for number, match in found if match}


def own_lines(program, places):
    return [place["line"] for place in places if (place["file"] or "").endswith(f"/{program}.c")]


def is_planted(text, platform, mode):
    """Returns whether a domain change with this comment is useless: on the platforms that it names, or else in the mode `wrong`."""
    named = re.search(r"useless on ([a-z0-9,]+)", text)
    return platform in named[1].split(",") if named else mode == "wrong"


# Programs whose flushes are all before the store, or none is.
EARLY = {"too_early": True, "left_out": False}


def problems(platform, program, mode, status, report):
    """Returns what is wrong with a report."""
    row, found = table()[program], report["findings"]
    if platform in row["refused"].split(","):
        return [] if (status, found) == (77, []) else [f"not refused: status {status}, {len(found)} findings"]
    if status != 0:
        return [f"status {status}"]
    planted = []
    if mode == "wrong" and platform in row["found"].split(","):
        # Each finding has its place in the source.
        planted = list(zip([lines.strip() for lines in row["lines"].split(";")], sorted(marked(program, "wrong")), strict=True))
    wrong = []
    seen = [(finding["kind"].replace(" ", "-"), finding["lines"]) for finding in found]
    if seen != [(row["kind"], lines) for lines, _ in planted]:
        wrong.append(f"findings {seen}, planted {planted} {row['kind']}")
    for finding, (_, line) in zip(found, planted):
        # Such bytes have no call stack of a store.
        stack = finding["load"] or finding["store"] or finding["request"]
        if bool(finding["load"]) != (finding["kind"] == "missing invalidate"):
            wrong.append(f"a {finding['kind']} has the call stack of a load {finding['load']}")
        if bool(finding["store"]) == (program in WITHOUT_STORE):
            wanted = "none" if program in WITHOUT_STORE else "one"
            wrong.append(f"the store has the call stack {finding['store']}, {wanted} is wanted")
        if line not in own_lines(program, stack):
            wrong.append(f"line {line} is not in the call stack {own_lines(program, stack)}")
        if "main" not in [place["function"] for place in finding["request"]]:
            wrong.append("the request has no call stack")
        early = {flush["before_store"] for flush in finding["flushed"]}
        if program in EARLY and early != {EARLY[program]}:
            wrong.append(f"flushes are before the store: {early}, {EARLY[program]} is wanted")
    useless = [flush for flush in report["flushes"] if flush["useless"]]
    if platform in ("glk", "jsl"):
        expected = {
            line for line, text in marked(program, "useless").items()
            if mode == "wrong" and not (platform == "jsl" and "bypass" in text)
        }
        # The first line of the source: its callers follow.
        lines = {line for flush in useless for line in own_lines(program, flush["place"])[:1]}
        if lines != expected and platform == "glk" or not expected <= lines:
            wrong.append(f"useless flushes at {sorted(lines)}, planted {sorted(expected)}")
        cautious = [flush for flush in report["flushes"] if flush["verdict"] == "precautionary"]
        lines = {line for flush in cautious for line in own_lines(program, flush["place"])}
        expected = set(marked(program, "precautionary")) if mode == "wrong" and platform == "glk" else set()
        if not expected <= lines:
            wrong.append(f"precautionary flushes at {sorted(lines)}, planted {sorted(expected)}")
    elif any(flush["verdict"] == "needed" for flush in report["flushes"]) and program not in ON_SCREEN:
        wrong.append("a flush is called needed, and the GPU looks into the CPU's cache")
    return wrong + domain_problems(platform, program, mode, [change for change in report["domain_changes"] if change["useless"]])


def domain_problems(platform, program, mode, useless):
    """Returns what is wrong with the useless domain changes on a platform."""
    planted = {line for line, text in marked(program, "domain").items() if is_planted(text, platform, mode)}
    # The line of main(), which is the outermost one.
    found = {own_lines(program, change["place"])[-1] for change in useless}
    return [] if found == planted else [f"{platform}: useless domain changes at {sorted(found)}, planted {sorted(planted)}"]


# Programs whose lines the display reads.
ON_SCREEN = ("scanout",)

# Programs that do something else on some platforms: a run on another one does not tell.
DECIDES = {"measure": ["mtl", "dg2"], "surface_bypass": ["mtl", "dg2"],
           # The object is in local memory, which no mapping shows write-back.
           "missing_invalidate": ["dg2"], "blocked_out": ["dg2"], "written_out": ["dg2"]}

# Programs whose mistake only a run without --platforms shows: a trace does not tell by which mapping a program stored.
UNTRACED = ("async_map",)

# Programs that continue without a request that a platform refuses.
CONTINUES = ("exported", "measure", "surface_bypass", "useless")


def judged_problems(run, program, mode, report):
    """Returns what is wrong with the report of a run on `run` that is judged by many platforms: each must find what the table
    says, as if the program had run there. Of platforms that would refuse the program only that is compared."""
    row, wrong = table()[program], []
    decides = DECIDES.get(program, [])
    reasons = {name: verdict["refused"] for verdict in report["platforms"] for name in verdict["platforms"]}
    for platform, refused in reasons.items():
        is_refused = platform in row["refused"].split(",")
        if bool(refused) != is_refused and program not in CONTINUES:
            wrong.append(f"{platform}: refused because {refused}, the table says {row['refused']}")
        if is_refused or run != platform and {run, platform} & set(decides):
            continue
        planted = []
        if mode == "wrong" and platform in row["found"].split(",") and program not in UNTRACED:
            planted = [(row["kind"], lines.strip()) for lines in row["lines"].split(";")]
        found = [(finding["kind"].replace(" ", "-"), finding["lines"])
                 for finding in report["findings"] if platform in finding["platforms"]]
        if found != planted:
            wrong.append(f"{platform}: {found}, planted {planted}")
        useless = [change for change in report["domain_changes"]
                   if platform not in change["needed_on"] + change["precautionary_on"]]
        wrong += domain_problems(platform, program, mode, useless)
    return wrong if reasons else ["no platform was a judge"]


def sarif_problems(document, kind):
    """Returns which fields of SARIF 2.1.0 are missing (sections 3.13, 3.14, 3.18, 3.27, 3.28, 3.44)."""
    wrong = []

    def need(condition, what):
        if not condition:
            wrong.append(what)

    need(document.get("version") == "2.1.0", "version")
    need(len(document.get("runs", [])) == 1, "runs")
    for run in document.get("runs", []):
        driver = run.get("tool", {}).get("driver", {})
        need(isinstance(driver.get("name"), str), "tool.driver.name")
        rules = [rule.get("id") for rule in driver.get("rules", [])]
        need(len(set(rules)) == len(rules) and all(rules), "rules: unique ids")
        results = run.get("results")
        need(isinstance(results, list), "results")
        kinds = [result.get("ruleId") for result in results or []]
        # The notes follow the findings.
        findings = [found for found in kinds if found not in ("useless-flush", "useless-set_domain")]
        need(findings == ([] if kind == "-" else [kind.lower()]) and kinds[:len(findings)] == findings, "results")
        for result in results or []:
            need(isinstance(result.get("message", {}).get("text"), str), "message.text")
            need(result.get("ruleId") in rules, "ruleId is no rule")
            need(result.get("level") in ("none", "note", "warning", "error"), "level")
            need(result.get("locations"), "locations")
            # The source of the program, not libc's memset().
            places = [place.get("physicalLocation", {}) for place in result.get("locations", [])]
            need(all("region" in at and "/sysdeps/" not in at["artifactLocation"]["uri"] for at in places), "locations: a source")
            for stack in result.get("stacks", []):
                need(isinstance(stack.get("frames"), list), "stack.frames")
    return wrong


# The histories of objects that the pictures of some programs show on glk: for each row, the cells from left to right.
BEGIN = ["dirty", "written back", "clean", "clean, read"]
WRITTEN_TWICE = ["dirty", "written back", "clean", "clean, written", "clean", "memory newer, written"]
PICTURES = {
    "left_out": {
        "lines 0-36": [*BEGIN, "dirty, stored", "written back, flushed", "clean", "clean", "clean, read"],
        "line 37": [*BEGIN, "dirty, stored", "dirty", "dirty", "dirty", "dirty, read, wrong"],
        "lines 38-255": [*BEGIN, "dirty, stored", "dirty", "written back, flushed", "clean", "clean, read"],
    },
    "lost_write": {
        "lines 0-11": ["dirty", "written back", "clean", "clean, written", "clean", "clean", "memory newer, written"],
        "lines 12-15": ["dirty", "written back", "clean", "clean, written", "dirty, stored", "dirty", "dirty, written, wrong"],
        "lines 16-255": ["dirty", "written back", "clean", "clean, written", "clean", "clean", "memory newer, written"],
    },
    "missing_invalidate": {
        "lines 0-19": [*WRITTEN_TWICE, "clean, invalidated", "clean"],
        "lines 20-22": [*WRITTEN_TWICE, "memory newer", "memory newer, read, wrong"],
        "lines 23-255": [*WRITTEN_TWICE, "memory newer", "memory newer"],
    },
}


def svg_problems(program, text):
    """Returns what is wrong with a picture."""
    try:
        root = xml.fromstring(text)
    except xml.ParseError as error:
        return [f"no XML: {error}"]
    svg = "{http://www.w3.org/2000/svg}"
    wrong = []
    if root.tag != f"{svg}svg":
        wrong.append(f"the root is {root.tag}")
    active = [node.tag for node in root.iter() if node.tag == f"{svg}script" or any(name.startswith("on") for name in node.attrib)]
    if active or "href" in text:
        wrong.append(f"the picture is not passive: {active}")
    cells = {}
    for node in root.iter(f"{svg}title"):
        if match := re.fullmatch(r"(lines? [0-9-]+), event (\d+): (.*)", node.text):
            cells.setdefault(match[1], []).append(match[3])
            if int(match[2]) != len(cells[match[1]]) - 1:
                wrong.append(f"the cells of {match[1]} are not in order")
    if cells != PICTURES[program]:
        wrong.append(f"the rows are {cells}")
    words = " ".join(node.text or "" for node in root.iter(f"{svg}text"))
    for line in marked(program, "wrong"):
        if f" ({program}.c:{line})" not in words:
            wrong.append(f"the place {program}.c:{line} is not named")
    return wrong


def self_test():
    place = {"file": f"/x/left_out.c", "line": min(marked("left_out", "wrong")), "function": "main"}
    flush = {"place": [place], "useless": False, "verdict": "needed"}
    flushed = [{"before_store": False}]
    finding = {"kind": "stale read", "lines": "37", "store": [place], "load": [], "request": [place], "flushed": flushed}
    change = {"place": [place], "useless": False}
    good = {"findings": [finding], "flushes": [flush], "domain_changes": [change]}
    assert not problems("glk", "left_out", "wrong", 0, good)
    for platform, mode, status, report in [
        ("glk", "wrong", 1, good),
        ("glk", "right", 0, good),
        ("tgl", "wrong", 0, good),
        ("glk", "wrong", 0, {**good, "findings": []}),
        ("glk", "wrong", 0, {**good, "findings": [{**finding, "lines": "36"}]}),
        ("glk", "wrong", 0, {**good, "findings": [{**finding, "kind": "lost write"}]}),
        ("glk", "wrong", 0, {**good, "findings": [{**finding, "store": [{**place, "line": 1}]}]}),
        ("glk", "wrong", 0, {**good, "findings": [{**finding, "load": [place]}]}),
        ("glk", "wrong", 0, {**good, "findings": [{**finding, "flushed": [{"before_store": True}]}]}),
        ("glk", "wrong", 0, {**good, "flushes": [{**flush, "useless": True}]}),
        ("glk", "wrong", 0, {**good, "domain_changes": [{**change, "useless": True}]}),
        ("tgl", "right", 0, {**good, "findings": []}),
    ]:
        assert problems(platform, "left_out", mode, status, report), (platform, mode, status, report)
    beside = {"file": "/x/wrong_range.c", "line": min(marked("wrong_range", "precautionary")), "function": "main"}
    found = {**finding, "lines": "64-71", "store": [{**beside, "line": min(marked("wrong_range", "wrong"))}]}
    cautious = {**good, "findings": [found], "flushes": [{**flush, "place": [beside], "verdict": "precautionary"}]}
    assert not problems("glk", "wrong_range", "wrong", 0, cautious)
    assert problems("glk", "wrong_range", "wrong", 0, {**cautious, "flushes": [{**flush, "place": [beside]}]})
    everywhere = [{**change, "needed_on": ["tgl"], "precautionary_on": ["glk"]}]
    verdict = {"platforms": ["glk", "tgl"], "refused": []}
    refused = {"platforms": ["mtl"], "refused": ["no such request"]}
    judged = {"findings": [{**finding, "platforms": ["glk"]}], "platforms": [verdict], "domain_changes": everywhere}
    assert not judged_problems("glk", "left_out", "wrong", judged)
    loaded = [{**finding, "kind": "missing invalidate", "lines": "20-22", "platforms": ["glk"]}]
    assert not judged_problems("glk", "missing_invalidate", "wrong", {**judged, "findings": loaded})
    assert not judged_problems("glk", "relocation", "right", {**judged, "findings": [], "platforms": [verdict, refused]})
    for program, mode, report in [
        ("relocation", "right", {**judged, "findings": [], "platforms": [verdict, {**refused, "refused": []}]}),
        ("left_out", "wrong", {**judged, "platforms": [verdict, refused]}),
        ("missing_invalidate", "wrong", {**judged, "findings": []}),
        ("missing_invalidate", "right", {**judged, "findings": loaded}),
        ("left_out", "right", judged),
        ("left_out", "wrong", {**judged, "findings": []}),
        ("left_out", "wrong", {**judged, "findings": [{**finding, "platforms": ["glk", "tgl"]}]}),
        ("left_out", "wrong", {**judged, "findings": [{**finding, "platforms": ["glk"], "lines": "36"}]}),
        ("left_out", "wrong", {**judged, "platforms": []}),
        ("left_out", "wrong", {**judged, "domain_changes": [{**change, "needed_on": ["glk"], "precautionary_on": []}]}),
    ]:
        assert judged_problems("glk", program, mode, report), (program, mode, report)
    line = min(marked("left_out", "wrong"))
    texts = [f"{row}, event {number}: {cell}" for row, cells in PICTURES["left_out"].items() for number, cell in enumerate(cells)]
    drawn = "".join(f"<g><title>{text}</title></g>" for text in texts)
    picture = f'<svg xmlns="http://www.w3.org/2000/svg">{drawn}<text>main (left_out.c:{line})</text></svg>'
    assert not svg_problems("left_out", picture)
    for old, new in [("wrong", "right"), ("event 3", "event 4"), ("<text>", "<script/><text>"), (f":{line})", ":1)"), ("</svg>", "")]:
        assert svg_problems("left_out", picture.replace(old, new)), new
    assert sarif_problems({"version": "2.1.0", "runs": [{"results": []}]}, "-")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--self-test"]:
            self_test()
            found = []
        case ["report", platform, program, mode, status, path]:
            found = problems(platform, program, mode, int(status), json.loads(Path(path).read_text()))
        case ["judged", run, program, mode, path]:
            found = judged_problems(run, program, mode, json.loads(Path(path).read_text()))
        case ["sarif", path, kind]:
            found = sarif_problems(json.loads(Path(path).read_text()), kind)
        case ["svg", program, path]:
            found = svg_problems(program, Path(path).read_text())
        case _:
            sys.exit(__doc__)
    if found:
        sys.exit("\n".join(found))
