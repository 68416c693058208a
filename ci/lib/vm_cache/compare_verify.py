"""Compares outputs of `gemtool verify --json`: the machine's with the software i915's, cell by cell.

compare_verify.py PLATFORM FOLDER          compares, prints the numbers for a row of the table; a problem is a line on standard error
compare_verify.py --runs PLATFORM machine  the runs that the reasons need beside those without options: NAME, tab, OPTIONS
compare_verify.py --runs PLATFORM sim
compare_verify.py --self-test

FOLDER has the outputs: `machine`, `sim`, one for each NAME, and, if the machine was measured with it, `adversary`. The library's and the kernel's
column must be right everywhere. Old bytes that
nobody flushed must show on the machine where they show on the software i915. The file `reasons` beside this one explains differences:
a reason with an option explains a cell that comes to the same with it; a fact, those of the cells that it names in which the machine
shows none. A reason that explains no cell of its platform is a problem.
"""

import copy
import json
import sys
from pathlib import Path

CELL = ("kind", "caching", "level", "over", "write", "read", "mocs")


def reasons(text, platform):
    """The reasons for a platform: (name, side, options or cells)."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith(("#", " ")):
            name, side, options, platforms = line.split(maxsplit=3)
            assert side in ("machine", "sim", "fact"), line
            if platform in platforms.split(","):
                found.append((name, side, options.replace("+", " ")))
    return found


def cells(output):
    """The rows by what they measure."""
    return {tuple(json.dumps(row[key]) for key in CELL): row for row in output["rows"]}


def shows(row):
    return row["without_flushes"] is not None and row["without_flushes"]["shown"] is not None


def is_named(row, conditions):
    """Whether a fact names a cell."""
    return all(row[key] == value for key, value in (condition.split("=") for condition in conditions.split()))


def named(cell):
    kind, caching, level, over, write, read, mocs = (json.loads(word) for word in cell)
    entry = "" if mocs is None else f", MOCS {mocs['class']}"
    return f"{kind} {' '.join(path for path in (over, write, read) if path)}, caching {caching}{entry}"


def compare(outputs, known):
    """Returns the numbers of cells, of cells that show old bytes on both, and of cells for each reason; and the problems."""
    problems = []
    tables = {name: cells(output) for name, output in outputs.items()}
    machine, sim = tables["machine"], tables["sim"]
    for cell in machine.keys() ^ sim.keys():
        problems.append(f"{named(cell)}: on one side only")
    for name, table in tables.items():
        if name in ("machine", "adversary", *(reason for reason, side, _ in known if side == "machine"), "sim"):
            for cell, row in table.items():
                for column in ("library", "kernel"):
                    if isinstance(row[column], dict) and "wrong" in row[column]:
                        problems.append(f"{named(cell)}: wrong in the column '{column}' of {name}: {row[column]['wrong']}")
    counts = {name: 0 for name, _, _ in known}
    both = 0
    for cell in machine.keys() & sim.keys():
        wanted, got = shows(sim[cell]), shows(machine[cell])
        both += wanted and got
        if wanted == got:
            continue
        # What the other side shows, with the option.
        explained = [
            name
            for name, side, options in known
            if (
                wanted and is_named(sim[cell], options)
                if side == "fact"
                else cell in tables[name] and shows(tables[name][cell]) == (wanted if side == "machine" else got)
            )
        ]
        for name in explained:
            counts[name] += 1
        if not explained:
            where = "the software i915 shows old bytes, the machine none" if wanted else "the machine shows old bytes, the software i915 none"
            problems.append(f"{named(cell)} ({sim[cell]['rule']}): {where}")
    problems += [f"the reason '{name}' explains no cell" for name, count in counts.items() if not count]
    return len(machine), both, counts, sorted(problems)


def self_test():
    """Each kind of problem is noticed."""

    def output(*shown):
        rows = []
        for number, old in enumerate(shown):
            row = dict.fromkeys(CELL) | {"kind": f"row{number}", "rule": "rule", "library": "right", "kernel": "right"}
            rows.append(row | {"without_flushes": {"shown": {"got": 1} if old else None}})
        return {"rows": rows}

    known = reasons("# comment\nsame machine --option glk,apl\n  continued\nother sim drop=this tgl\n", "glk")
    assert known == [("same", "machine", "--option")], known
    right = {"machine": output(0, 0, 1), "sim": output(0, 1, 1), "same": output(0, 1, 1)}
    assert compare(right, known) == (3, 1, {"same": 1}, []), compare(right, known)
    for name, column in [("machine", "kernel"), ("sim", "library"), ("same", "library"), ("adversary", "library")]:
        wrong = copy.deepcopy(right | {"adversary": output(0, 1, 1)})
        wrong[name]["rows"][0][column] = {"wrong": "bytes"}
        assert len(compare(wrong, known)[3]) == 1, name
    facts = [("fact", "fact", "rule=rule kind=row1")]
    assert compare({"machine": output(0, 0), "sim": output(0, 1)}, facts)[3] == []
    assert len(compare({"machine": output(0, 1), "sim": output(0, 0)}, facts)[3]) == 2
    for machine, sim, problem in [
        (output(1, 0, 1), output(0, 1, 1), "the machine shows"),
        (output(0, 0, 0), output(0, 1, 1), "the software i915 shows"),
        (output(0, 1, 1), output(0, 1, 1), "explains no cell"),
        (output(0, 0), output(0, 1, 1), "on one side only"),
    ]:
        same = output(1, 0, 0)
        found = compare({"machine": machine, "sim": sim, "same": same}, known)[3]
        assert any(problem in text for text in found), (problem, found)


def main(words):
    data = Path(__file__).with_name("reasons")
    match words:
        case ["--self-test"]:
            self_test()
        case ["--runs", platform, wanted]:
            for name, side, options in reasons(data.read_text(), platform):
                if side == wanted:
                    print(f"{name}\t{options}")
        case [platform, folder]:
            known = reasons(data.read_text(), platform)
            names = ["machine", "sim", *(name for name, side, _ in known if side != "fact")]
            if Path(folder, "adversary").exists():
                names.append("adversary")
            outputs = {name: json.loads(Path(folder, name).read_text()) for name in names}
            number, both, counts, problems = compare(outputs, known)
            print(f"{number}\t{both}\t{', '.join(f'{count} {name}' for name, count in counts.items()) or '-'}")
            if problems:
                sys.exit("\n".join(problems))
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
