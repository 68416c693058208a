"""Runs the validator's tests with each mutant of a list, and compares the survivors with those that are known.

    eu_mutants.py LIST DIFFER TEST [--all]

LIST has a line for each mutant: number, place, change. TEST is the test program with the mutants in it. DIFFER says what the answers
of mutants about instructions at random have that the validator's have not.
"""

import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

from mutants import read_list, read_survivors

SURVIVORS = Path("ci/lib/eu-mutants-survivors")
# Without --all, one mutant in so many is judged.
SAMPLE = 32
# The instructions at random.
INSTRUCTIONS = 200_000
TIMEOUT_S = 60


def is_killed(test, number):
    """Whether a test fails with this mutant, or does not end."""
    environment = os.environ | {"GEM_COHERENCY_MUTANT": str(number)}
    try:
        return subprocess.run([test, "--quiet"], env=environment, capture_output=True, timeout=TIMEOUT_S).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def differing(command, numbers):
    """What differs in the answers of each mutant: number -> `nothing`, or what, and an instruction."""
    if not numbers:
        return {}
    run = subprocess.run([command, str(INSTRUCTIONS), *map(str, numbers)], capture_output=True, text=True, check=True)
    rows = (line.split("\t") for line in run.stdout.splitlines())
    found = {int(number): "nothing" if what == "nothing" else f"{what}: {where}" for number, what, where in rows}
    if set(found) != set(numbers):
        sys.exit("the comparison left mutants out")
    return found


def problems(verdicts, known, names, every):
    """What is wrong: `verdicts` has None for a killed mutant, else what differs; `names` are those of all mutants."""
    wrong = [f"survives without a reason: {mutant}: {what}" for mutant, what in verdicts.items() if what and mutant not in known]
    wrong += [
        f"is listed, but answers differ: {mutant}: {verdicts[mutant]}"
        for mutant in known
        if verdicts.get(mutant) not in (None, "nothing")
    ]
    wrong += [f"is listed, but there is no such mutant: {mutant}" for mutant in known if mutant not in names]
    if every:
        wrong += [f"is listed, but does not survive: {mutant}" for mutant in known if mutant in names and not verdicts[mutant]]
    return wrong


def self_test():
    names = {"a", "b", "c"}
    cases = [
        ("nothing is wrong", {"a": None, "b": "nothing", "c": None}, {"b": "why"}, True, 0),
        ("a survivor without a reason", {"a": None, "b": "nothing", "c": None}, {}, True, 1),
        ("a survivor that differs, with a reason", {"a": None, "b": "rules: x", "c": None}, {"b": "why"}, True, 1),
        ("a reason for a killed one", {"a": None, "b": None, "c": None}, {"b": "why"}, True, 1),
        ("a reason for one that is not in the sample", {"a": None}, {"b": "why"}, False, 0),
        ("a reason for one that is gone", {"a": None, "b": None, "c": None}, {"d": "why"}, True, 1),
    ]
    for what, verdicts, known, every, count in cases:
        if len(problems(verdicts, known, names, every)) != count:
            sys.exit(f"self-test: {what}")
    print(f"self-test: {len(cases)} cases")


def main(list_file, differ, test, *options):
    every = bool(options)
    mutants = read_list(Path(list_file).read_text())
    numbers = {mutant: number for number, mutant in mutants.items()}
    if len(numbers) != len(mutants) or not mutants:
        sys.exit("two mutants have one name, or there are none")
    known = read_survivors(SURVIVORS.read_text(), SURVIVORS)
    chosen = {mutant: number for mutant, number in numbers.items() if every or number % SAMPLE == 1}
    if is_killed(test, 0):
        sys.exit("the tests fail without a mutant")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        killed = dict(zip(chosen, pool.map(lambda number: is_killed(test, number), chosen.values())))
    alive = {number: mutant for mutant, number in chosen.items() if not killed[mutant]}
    verdicts = dict.fromkeys(chosen) | {alive[number]: what for number, what in differing(differ, alive).items()}
    if wrong := problems(verdicts, known, set(numbers), every):
        sys.exit("\n".join([*wrong, f"{len(wrong)} mutants are not accounted for"]))
    print(f"{len(numbers)} mutants, {len(chosen)} of them judged: {len(chosen) - len(alive)} killed, {len(alive)} survive for a listed reason")


if sys.argv[1:] == ["--self-test"]:
    self_test()
else:
    main(*sys.argv[1:])
