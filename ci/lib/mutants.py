"""Compares the answers of mutants of a list with those of the rules, runs the explorer on those that behave differently,
and compares the survivors with those that are known.

    mutants.py LIST JUDGE [--all TEST... | --only FILE,FILE... TEST... | --shard I/N TEST...]

LIST has a line for each mutant: number, place, change. JUDGE exits with 1 if the explorer finds a broken property; with
--compare it says what each mutant changes. Each TEST is a test program with the mutants in it: of mutants that the explorer does not
notice, scenarios on the software device are run, and of the kernel's rules among the others, crates/sim/tests/conformance compares what the
software device does with what the real driver does. --only leaves out the mutants of other files, --shard those of the files of other
parts of N.
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
# The states of each search that are looked at.
NEAREST = 20_000
TIMEOUT_S = 1800

# Changes that no one judges: the comparison of all answers is the reason why each may survive.
EXPLAINED = {
    "nothing": "no result differs",
    "reasons": "only the named rule differs",
    "defaults": "only the default map mode differs",
    "refusals": "other calls are refused",
    "more": "more is flushed, noted or treated as dirty, never less",
    "own-objects": "only the kernel's own objects behave differently",
}

# The search for mutants of code that no compared kernel reaches. Other callers break a property there without a mutant.
OLDEST = ("--kernel", "5.10", "--caller", "protocol")

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

# Machines on which mutants of the kernel's rules are compared with the driver, each with the survivors of those before it: platform,
# kernel, options of crates/vm/run. A machine that slept cannot read the host's files, so that it serves for one mutant only.
MACHINES = [
    ("glk", "6.12", ("--display",)),
    ("jsl", "6.1", ()),
    ("mtl", "6.12", ()),
    ("tgl", "6.12", ("--display",)),
    ("dg2", "6.12", ()),
    ("hsw", "6.1", ("--display",)),
]
# Where the kernel's rules are.
KERNEL = ("kernel/", "mod.rs coherency")
SLEEPING = ("kernel/power.rs", [("glk", "6.12", ("--display",)), ("tgl", "6.12", ("--display",))])
CALLS = 1500
# The tests that are scenarios on the software device, quick ones first.
SCENARIOS = ("script", "soft", "scanout", "device")


def judge(command, number, *arguments):
    """What the explorer says of a mutant: the property that it breaks, or None."""
    environment = os.environ | {"GEM_COHERENCY_MUTANT": str(number)}
    run = subprocess.run([command, *arguments], env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    last = (run.stdout.strip().split("\n") or [""])[-1]
    if run.returncode == 0:
        return None
    broken = re.match(r"(\S+) is broken", last)
    return broken[1] if run.returncode == 1 and broken else "the explorer fails"


def judge_at(command, number, places):
    """What the explorer says of a mutant at the first of these places where it breaks a property."""
    return next(filter(None, (judge(command, number, *where, "--states", str(NEAREST)) for where in places)), None)


def ranges(numbers, count):
    """Some numbers as `count` lists of like length, or as more without gaps: FIRST-LAST each."""
    found, length = [], -(-len(numbers) // count)
    for place, number in enumerate(sorted(numbers)):
        if place % length and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return [f"{one[0]}-{one[-1]}" for one in found]


def compare(command, numbers):
    """What each mutant changes: number -> (class, kernel); the class of one whose code no compared kernel reaches is "unknown"."""
    commands = [[command, "--compare", some] for some in ranges(numbers, os.cpu_count())]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    rows = [line.split("\t") for run in runs for line in run.communicate()[0].splitlines()]
    if any(run.returncode for run in runs):
        sys.exit("the comparison failed")
    changes = {int(number): (change if place == "reached" else "unknown", kernel) for number, change, kernel, place in rows}
    if set(changes) != set(numbers):
        sys.exit("the comparison left mutants out")
    return changes


def judge_by_scenarios(programs, mutants):
    """Of mutants (name -> number), those for which a scenario on the software device fails: name -> the program."""

    def failing(number):
        # proptest keeps no seeds of the failures in the tree.
        environment = os.environ | {"GEM_COHERENCY_MUTANT": str(number), "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true"}
        for name in SCENARIOS:
            try:
                run = subprocess.run([programs[name]], env=environment, capture_output=True, timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                return name
            if run.returncode:
                return name
        return None

    if name := failing(0):
        sys.exit(f"tests/{name} fails without a mutant")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(mutants, pool.map(failing, mutants.values())))
    found = {mutant: name for mutant, name in found.items() if name}
    print("".join(f"tests/{name} fails\t{mutant}\n" for mutant, name in found.items()), end="", flush=True)
    return found


def compare_with_driver(program, machine, numbers, *options):
    """The mutants among `numbers` whose software device differs from the driver on a machine."""
    platform, kernel, machine_options = machine
    command = ["crates/vm/run", platform, "--kernel", kernel, *machine_options, "--vgem", "--timeout", "3600", "--"]
    command += ["sh", "ci/lib/mutants-on-driver", program, " ".join(map(str, numbers))]
    command += ["--device", "/dev/dri/card0", "--sim", f"sim:{platform},kernel={kernel}", "--seed", "1", "--calls", str(CALLS)]
    run = subprocess.run([*command, *options], capture_output=True, text=True)
    rows = {int(row[1]): (int(row[2]), int(row[3])) for row in re.finditer(r"^mutant (\d+) (\d+) (\d+)$", run.stdout, re.M)}
    # Without a mutant there is no difference.
    if len(rows) != len(numbers) or rows.get(0, (0, 0)) != (0, 0):
        sys.exit(f"{run.stdout}{run.stderr}{platform}:{kernel}: {len(rows)} of {len(numbers)} runs; without a mutant: {rows.get(0)}")
    return {number for number, (status, different) in rows.items() if status == 1 and different}


def judge_on_driver(program, mutants):
    """Of mutants (name -> number), the names of those that the real driver contradicts."""
    place, sleeping = SLEEPING
    asleep = {mutant: number for mutant, number in mutants.items() if mutant.startswith(place)}
    awake = {mutant: number for mutant, number in mutants.items() if mutant not in asleep}
    found = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for first in range(0, len(MACHINES) if awake else 0, os.cpu_count()):
            machines = MACHINES[first : first + os.cpu_count()]
            left = [0, *(number for number in awake.values() if number not in found)]
            found |= set().union(*pool.map(lambda machine: compare_with_driver(program, machine, left), machines))
        for machine in sleeping if asleep else ():
            left = [0, *(number for number in asleep.values() if number not in found)]
            found |= set().union(*pool.map(lambda number: compare_with_driver(program, machine, [number], "--suspend"), left))
    names = {mutant for mutant, number in mutants.items() if number in found}
    print("".join(f"the driver differs\t{mutant}\n" for mutant in sorted(names)), end="", flush=True)
    return names


def read_list(text):
    """The mutants: number -> "place: change"."""
    rows = (line.split("\t") for line in text.splitlines())
    return {int(number): f"{place}: {change}" for number, place, change in rows}


def read_survivors(text, name=SURVIVORS):
    """The known survivors: mutant, or place and ": *" for every mutant of a function -> reason. A line is one, a tab, a reason."""
    known = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            mutant, _, reason = line.partition("\t")
            if not reason.strip() or mutant in known:
                sys.exit(f"{name}: no reason, or twice: {mutant}")
            known[mutant] = reason
    return known


def read_sample(text):
    """The mutants of the sample."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def whole_function(mutant):
    """The entry of the list that stands for every mutant of this one's function."""
    return mutant.split(": ", 1)[0] + ": *"


def file(mutant):
    """The file that a mutant, or a place, is in."""
    return mutant.split(" ", 1)[0]


def part(mutants, shard):
    """The files of part I of N, "I/N", with about as many of the mutants as the other parts."""
    index, count = map(int, shard.split("/"))
    parts = [(0, number, []) for number in range(count)]
    for name, size in sorted(Counter(map(file, mutants)).items(), key=lambda row: (-row[1], row[0])):
        total, number, files = min(parts)
        parts[number] = (total + size, number, [*files, name])
    return parts[index - 1][2]


def differences(verdicts, known, classes, names, every):
    """What is wrong: `verdicts` has the property that each judged mutant broke, or None; `classes` what each compared mutant changes;
    `names` are those of all mutants."""
    def listed(mutant):
        return mutant in known or whole_function(mutant) in known

    wrong = [
        f"survives without a reason ({classes[mutant]}): {mutant}"
        for mutant, broken in verdicts.items()
        if not broken and not listed(mutant) and classes[mutant] not in EXPLAINED
    ]
    wrong += [f"is listed, but needs no reason: {mutant}" for mutant in known if classes.get(mutant) in EXPLAINED]
    there = set(names) | {whole_function(mutant) for mutant in names}
    wrong += [f"is listed, but there is no such mutant: {mutant}" for mutant in known if mutant not in there]
    if every:
        survivors = {mutant for mutant, broken in verdicts.items() if not broken}
        survivors |= {whole_function(mutant) for mutant in survivors if classes[mutant] not in EXPLAINED}
        gone = [mutant for mutant in known if mutant in there - survivors and classes.get(mutant) not in EXPLAINED]
        wrong += [f"does not survive, but is listed: {mutant}" for mutant in gone]
    return wrong


def self_test():
    mutants = {"a": "behaviour", "b": "behaviour", "m": "more"}
    mutants |= {"x f: 1": "behaviour", "x f: 2": "behaviour"}
    cases = [
        ("nothing is wrong", {"a": "no-leak", "b": None, "m": None}, {"b": "why"}, 0),
        ("a reason for a function", {"x f: 1": None, "x f: 2": "no-leak"}, {"x f: *": "why"}, 0),
        ("a reason for a function without a survivor", {"x f: 1": "marked", "x f: 2": "marked"}, {"x f: *": "why"}, 1),
        ("a reason for a function that is gone", {"a": "no-leak"}, {"y f: *": "why"}, 1),
        ("a survivor without a reason", {"a": None, "b": None}, {"b": "why"}, 1),
        ("a reason without a survivor", {"a": "no-leak", "b": "no-leak"}, {"b": "why"}, 1),
        ("a reason that is not needed", {"a": "no-leak", "b": None}, {"b": "why", "m": "why"}, 1),
        ("a mutant that is gone", {"a": "no-leak", "b": None}, {"b": "why", "c": "why"}, 1),
    ]
    for what, verdicts, known, count in cases:
        if len(differences(verdicts, known, mutants, mutants, True)) != count:
            sys.exit(f"self-test: {what}")
    for numbers, count, expected in [((1, 2, 3, 4, 5), 2, ["1-3", "4-5"]), ((2, 3, 7, 8), 1, ["2-3", "7-8"]), ((4,), 2, ["4-4"])]:
        if ranges(numbers, count) != expected:
            sys.exit(f"self-test: {numbers} as {ranges(numbers, count)}")
    several = [*["a f: 1"] * 5, *["b f: 1"] * 3, *["c f: 1"] * 2]
    if [part(several, shard) for shard in ("1/2", "2/2")] != [["a"], ["b", "c"]]:
        sys.exit(f"self-test: the parts are {part(several, '1/2')} and {part(several, '2/2')}")
    print(f"self-test: {len(cases)} cases")


def judge_named(command, numbers, named):
    """Fails unless each named mutant is killed for each caller that it is named for."""
    for place, change, platform, kernel, callers in named:
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
    every, named = bool(options), NAMED
    if options[:1] in (("--only",), ("--shard",)):
        files = options[1].split(",") if options[0] == "--only" else part(numbers, options[1])
        if gone := set(files) - set(map(file, numbers)):
            sys.exit(f"--only: files without mutants: {' '.join(sorted(gone))}")
        numbers = {mutant: number for mutant, number in numbers.items() if file(mutant) in files}
        known = {mutant: reason for mutant, reason in known.items() if file(mutant) in files}
        named = [row for row in NAMED if file(row[0]) in files]
        options = options[1:]
    programs = {Path(program).name.split("-")[0]: program for program in options[1:]}
    if every and set(programs) != {*SCENARIOS, "conformance"}:
        sys.exit(f"not the tests {' '.join(SCENARIOS)} conformance: {' '.join(options)}")
    judge_named(command, numbers, named)
    sample = read_sample(SAMPLE.read_text())
    if gone := [mutant for mutant in sample if mutant not in mutants.values()]:
        sys.exit("\n".join([*gone, f"{SAMPLE}: there are no such mutants any more; take others of these functions"]))
    compared = {mutant: numbers[mutant] for mutant in (numbers if every else sample)}
    changes = compare(command, compared.values())
    classes = {mutant: changes[number][0] for mutant, number in compared.items()}
    if (not every or len(numbers) == len(mutants)) and "behaviour" not in classes.values():
        sys.exit("the comparison found no mutant that behaves differently")
    verdicts = {mutant: None for mutant, change in classes.items() if change in EXPLAINED}
    chosen = [mutant for mutant in compared if mutant not in verdicts]
    if "unknown" in classes.values() and judge(command, 0, *OLDEST):
        sys.exit(f"{' '.join(OLDEST)}: broken without a mutant")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = {}
        for mutant in chosen:
            number = numbers[mutant]
            where = [("--kernel", changes[number][1]), *([OLDEST] if classes[mutant] == "unknown" else [])]
            work[pool.submit(judge_at, command, number, where)] = mutant
        for done in concurrent.futures.as_completed(work):
            verdicts[work[done]] = done.result()
            print(f"{done.result() or 'survives'}\t{classes[work[done]]}\t{work[done]}", flush=True)
    if every:
        survivors = [mutant for mutant, broken in verdicts.items() if not broken and classes[mutant] not in EXPLAINED]
        failing = judge_by_scenarios(programs, {mutant: numbers[mutant] for mutant in survivors})
        verdicts |= {mutant: f"tests/{name} fails" for mutant, name in failing.items()}
        # The driver is asked about those without a reason.
        left = [mutant for mutant in survivors if mutant not in failing and mutant not in known and whole_function(mutant) not in known]
        kernel = {mutant: numbers[mutant] for mutant in left if mutant.startswith(KERNEL)}
        if kernel:
            verdicts |= dict.fromkeys(judge_on_driver(programs["conformance"], kernel), "the driver differs")
    if wrong := differences(verdicts, known, classes, numbers, every):
        sys.exit("\n".join([*wrong, f"{len(wrong)} mutants are not accounted for"]))
    counts = Counter(
        (broken if " " in broken else f"`{broken}` is broken") if broken else f"survives: {EXPLAINED.get(classes[mutant], 'a reason is listed')}"
        for mutant, broken in verdicts.items()
    )
    for verdict, count in counts.most_common():
        print(f"| {verdict} | {count} |")
    killed = sum(len(callers) for *_, callers in named)
    print(
        f"{len(compared)} of {len(numbers)} mutants compared, {len(chosen)} of them searched, {killed} named ones killed, "
        f"{len(known)} survivors with a reason of their own"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        main(*sys.argv[1:])
