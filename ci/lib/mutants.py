"""Runs the explorer on each mutant of a list, and compares the survivors with those that are known.

    mutants.py LIST JUDGE [--all]

LIST has a line for each mutant: number, place, change. JUDGE exits with 1 if the explorer finds a broken property.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

SURVIVORS = Path("ci/lib/mutants-survivors")
SAMPLE = Path("ci/lib/mutants-sample")
# The states of each search that are looked at first, and alone for the sample; most mutants are found out there.
NEAREST = 20_000
TIMEOUT_S = 1800

# Mutants that have to be killed on this platform, under this kernel, for each of these callers.
EVERY = ("protocol", "library", "unknown", "hostile")
NAMED = [
    (
        "kernel/object.rs cpu_write_needs_clflush",
        "`!self.coherent_for(Coherency::WRITE) || self.state.framebuffer`: `!self.coherent_for(Coherency::WRITE)`",
        "hsw",
        "6.12",
        EVERY,
    ),
    (
        "kernel/object.rs set_cache_level",
        "`!self.rules.lacks(Rule::LevelChange) || was_dirty`: `was_dirty`",
        "hsw",
        "6.12",
        ("protocol",),
    ),
    ("kernel/object.rs gpu_write_needs_clflush", "arm `CacheLevel::None | CacheLevel::Wt` gives `true`", "glk", "6.12", ("protocol",)),
    ("kernel/pages.rs get_pages", "`!self.has(Caps::DG1)` is the opposite", "dg2", "6.1", ("library",)),
]


def judge(command, number, *arguments):
    """What the explorer says of a mutant: the property that it breaks, or None."""
    environment = os.environ | {"GEM_COHERENCY_MUTANT": str(number)}
    run = subprocess.run([command, *arguments], env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    last = (run.stdout.strip().split("\n") or [""])[-1]
    if run.returncode == 0:
        return None
    broken = re.match(r"(\S+) is broken", last)
    return broken[1] if run.returncode == 1 and broken else "the explorer fails"


def judge_nearest_first(command, number, every):
    """What the nearest states show, and then all of them if every mutant is judged."""
    return judge(command, number, "--states", str(NEAREST)) or (judge(command, number) if every else None)


def read_list(text):
    """The mutants: number -> "place: change"."""
    rows = (line.split("\t") for line in text.splitlines())
    return {int(number): f"{place}: {change}" for number, place, change in rows}


def read_survivors(text):
    """The known survivors: mutant -> reason. A line is a mutant, a tab, a reason."""
    known = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            mutant, _, reason = line.partition("\t")
            if not reason.strip() or mutant in known:
                sys.exit(f"{SURVIVORS}: no reason, or twice: {mutant}")
            known[mutant] = reason
    return known


def read_sample(text):
    """The mutants of the sample."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def differences(verdicts, known, mutants, every):
    """What is wrong: `verdicts` has the property that each judged mutant broke, or None."""
    wrong = [f"survives without a reason: {mutant}" for mutant, broken in verdicts.items() if not broken and mutant not in known]
    if every:
        wrong += [f"does not survive, but is listed: {mutant}" for mutant in known if verdicts.get(mutant)]
    return wrong + [f"is listed, but there is no such mutant: {mutant}" for mutant in known if mutant not in mutants]


def self_test():
    mutants = {"a", "b"}
    cases = [
        ("nothing is wrong", {"a": "no-leak", "b": None}, {"b": "why"}, 0),
        ("a survivor without a reason", {"a": None, "b": None}, {"b": "why"}, 1),
        ("a reason without a survivor", {"a": "no-leak", "b": "no-leak"}, {"b": "why"}, 1),
        ("a mutant that is gone", {"a": "no-leak", "b": None}, {"b": "why", "c": "why"}, 1),
    ]
    for what, verdicts, known, count in cases:
        if len(differences(verdicts, known, mutants, True)) != count:
            sys.exit(f"self-test: {what}")
    print(f"self-test: {len(cases)} cases")


def judge_named(command, numbers):
    """Fails unless each named mutant is killed for each caller that it is named for."""
    for place, change, platform, kernel, callers in NAMED:
        mutant = f"{place}: {change}"
        if mutant not in numbers:
            sys.exit(f"no such mutant any more: {mutant}")
        for caller in callers:
            where = ("--kernel", kernel, "--platform", platform, "--caller", caller)
            if judge(command, 0, *where, "--states", str(NEAREST)):
                sys.exit(f"{platform} {caller}: broken without a mutant")
            broken = judge(command, numbers[mutant], *where)
            print(f"{broken or 'survives'}\t{platform} {caller}\t{mutant}", flush=True)
            if not broken:
                sys.exit(f"{platform} {caller}: survives: {mutant}")


def main(list_file, command, *options):
    mutants = read_list(Path(list_file).read_text())
    numbers = {mutant: number for number, mutant in mutants.items()}
    if len(numbers) != len(mutants) or not mutants:
        sys.exit("two mutants have one name, or there are none")
    known = read_survivors(SURVIVORS.read_text())
    every = options == ("--all",)
    if options and not every:
        sys.exit(f"no such option: {' '.join(options)}")
    judge_named(command, numbers)
    sample = read_sample(SAMPLE.read_text())
    if gone := [mutant for mutant in sample if mutant not in numbers]:
        sys.exit("\n".join([*gone, f"{SAMPLE}: there are no such mutants any more; take others of these functions"]))
    chosen = list(mutants.values()) if every else sample
    verdicts = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = {pool.submit(judge_nearest_first, command, numbers[mutant], every): mutant for mutant in chosen}
        for done in concurrent.futures.as_completed(work):
            verdicts[work[done]] = done.result()
            print(f"{done.result() or 'survives'}\t{work[done]}", flush=True)
    if wrong := differences(verdicts, known, set(numbers), every):
        sys.exit("\n".join([*wrong, f"{len(wrong)} mutants are not accounted for"]))
    counts = Counter(verdict or "survives, with a reason" for verdict in verdicts.values())
    for verdict, count in counts.most_common():
        print(f"| {verdict} | {count} |")
    named = sum(len(callers) for *_, callers in NAMED)
    print(f"{len(mutants)} mutants, {len(chosen)} of them judged, {named} named ones killed, {len(known)} known survivors")


if sys.argv[1:] == ["--self-test"]:
    self_test()
else:
    main(*sys.argv[1:])
