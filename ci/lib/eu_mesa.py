"""Compares the answers of Mesa's validator of instructions with ours.

    eu_mesa.py VERDICTS DIFFERENCES FILE...

FILE has lines CASE, test/platform, answer, dwords, as ci/lib/eu-mesa/trace.cpp prints them; other lines do not count. VERDICTS is the
program that answers for us (crates/shader/eu/examples/verdicts.rs). DIFFERENCES lists the answers that may differ, with their number and the
reason. An instruction that we do not decode is invalid. Prints how many cases there are of each platform, and how many agree. Fails if
something differs that is not listed, or as often as is not listed.
"""

import collections
import subprocess
import sys

# Mesa's names of platforms that have another one here.
NAMES = {"byt": "vlv", "aml": "kbl", "whl": "cfl", "adl": "adlp", "rpl": "adls", "sg1": "dg1"}
# Those whose instructions are not known here: graphics 4 to 6, and 20 and up.
OUTSIDE = {"brw", "g4x", "ilk", "snb", "lnl", "bmg", "ptl"}
# Cases of an unknown difference that are printed.
SHOWN = 5


def read_cases(paths):
    """The cases: test, Mesa's name of the platform, answer, dwords."""
    cases = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file if line.startswith("CASE\t")]
        if not rows:
            sys.exit(f"{path} has no case")
        cases += [(*row[1].split("/"), row[2], row[3]) for row in rows]
    return cases


def read_differences(path):
    """The listed differences: (Mesa's answer, ours) -> number."""
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {(mesa, ours): int(count) for count, mesa, ours, reason in rows if reason}


def ask(program, cases):
    """Our answers."""
    questions = "".join(f"{NAMES.get(platform, platform)} {dwords}\n" for _, platform, _, dwords in cases)
    run = subprocess.run([program], input=questions, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{program}: {run.stderr}")
    return run.stdout.splitlines()


def main(program, listed_path, *paths):
    cases = read_cases(paths)
    known = [case for case in cases if case[1] not in OUTSIDE]
    answers = ask(program, known)
    if len(answers) != len(known):
        sys.exit(f"{len(answers)} answers to {len(known)} cases")
    total, agreed = collections.Counter(), collections.Counter()
    undecoded = 0
    differences = collections.defaultdict(list)
    for (test, platform, mesa, dwords), ours in zip(known, answers):
        total[platform] += 1
        if (mesa == "valid") == (ours == "valid"):
            agreed[platform] += 1
            undecoded += ours.startswith("unknown ")
        else:
            differences[mesa, ours].append(f"{test} {platform}: {dwords}")
    for platform, count in total.items():
        print(f"{platform}: {count} cases, {agreed[platform]} agree")
    listed = read_differences(listed_path)
    wrong = []
    for key in sorted(listed.keys() | differences.keys()):
        found = differences.get(key, [])
        print(f"Mesa: {key[0]}, ours: {key[1]}: {len(found)} cases")
        if len(found) != listed.get(key, 0):
            wrong += [f"Mesa: {key[0]}, ours: {key[1]}: {len(found)} cases, {listed.get(key, 0)} are listed", *found[:SHOWN]]
    if wrong:
        sys.exit("\n".join(wrong))
    count = sum(agreed.values())
    print(
        f"{len(known)} cases of {len(total)} platforms, {count} agree, {undecoded} of them not decoded here, {len(known) - count} differ for {len(listed)} listed "
        f"reasons; {len(cases) - len(known)} of {len({case[1] for case in cases} & OUTSIDE)} platforms are of generations that are not known here"
    )


main(*sys.argv[1:])
