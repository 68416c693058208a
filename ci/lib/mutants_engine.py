"""Runs tests and models with each mutant of a list, the quickest first, up to the first that notices it, and compares the survivors with those
that are known.

    mutants_engine.py CODE LIST [--shard I/N | --only FILE,FILE] PROGRAM...

CODE is engine or xe: ci/lib/mutants-CODE-survivors has the known survivors, ci/lib/mutants-CODE-sample the sample. LIST has a line for each
mutant: number, place, change. Each PROGRAM is a test program with the mutants in it, or the example xe_requests, whose answers
mutants_xe_answers.py judges. A mutant is killed by a program that fails, or that hangs. With --shard every mutant of part I of N is run, with
--only every one of these files, and those that are listed as survivors have to survive; without either, every second one of the sample, by the
environment's SEED.
"""

import concurrent.futures
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from mutants import file, read_list, read_sample, read_survivors, whole_function

CODE = {"engine": "the engine and of tracking", "xe": "the rules of xe"}
# A program has so many seconds of the CPU, and so many times as many as without a mutant, before it counts as hanging. One that takes none
# for so many seconds waits for ever. The load of the machine makes no difference.
GRACE_S = 10
SLOWER = 5
IDLE_S = 20
# Programs of which some tests take most of the time: these, and the others, are judges of their own.
SLOW = {"device": "sweep"}
# The program that prints requests of ci/xe with answers, and what judges those.
REQUESTS, ANSWERS = "xe_requests", "ci/lib/mutants_xe_answers.py"
# Folders of builds that have the names of their judges.
FOLDERS = ("loom", "check")


def parts(program):
    """The judges that a program is: command lines."""
    if Path(program).name == REQUESTS:
        return [(sys.executable, ANSWERS, program)]
    slow = SLOW.get(Path(program).name.rsplit("-", 1)[0])
    return [(program, "--quiet", "--skip", slow), (program, "--quiet", slow)] if slow else [(program, "--quiet")]


def run(judge, number, limit):
    """How a judge fails with a mutant: "fails", "hangs", or None; and the seconds of the CPU that it took."""
    # proptest keeps no seeds of the failures in the tree; call stacks take longer than the tests.
    environment = os.environ | {"GEM_COHERENCY_MUTANT": str(number), "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true", "RUST_BACKTRACE": "0"}
    process = subprocess.Popen(judge, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    used, since = 0.0, time.monotonic()
    while True:
        try:
            return ("fails" if process.wait(timeout=0.1) else None), used
        except subprocess.TimeoutExpired:
            now = cpu_s(process.pid)
        if now > used:
            used, since = now, time.monotonic()
        if used > limit or time.monotonic() - since > IDLE_S:
            process.kill()
            process.wait()
            return "hangs", used


def cpu_s(pid):
    """The seconds of the CPU that a process took, with the children that it waited for (proc_pid_stat(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def limits(programs):
    """The judges with their limits in seconds of the CPU, the quickest first."""
    found = []
    for judge in (judge for program in programs for judge in parts(program)):
        how, used = run(judge, 0, float("inf"))
        if how:
            sys.exit(f"{name(judge)} {how} without a mutant")
        found.append((used, judge))
    return [(judge, GRACE_S + SLOWER * used) for used, judge in sorted(found)]


def name(judge):
    """loom/own_marks: a model; check/xe: the explorer; tests/own_marks: a test, or lib: those in the library's own code; ci/xe: its requests."""
    if judge[0] == sys.executable:
        return "ci/xe"
    test = Path(judge[0]).name.rsplit("-", 1)[0]
    folder = Path(judge[0]).parents[2].name
    if folder in FOLDERS:
        return f"{folder}/{test}"
    return "lib" if test == "gem_coherency" else f"tests/{test}"


def killer(judges, number):
    """What kills a mutant: "loom/own_marks fails"; None if it survives."""
    for judge, limit in judges:
        if how := run(judge, number, limit)[0]:
            return f"{name(judge)} {how}"
    return None


def of_shard(numbers, shard):
    """The numbers of part I of N: every Nth one, so that each part has some of each file."""
    part, parts = map(int, shard.split("/"))
    if not 1 <= part <= parts:
        sys.exit(f"no such part: {shard}")
    return [number for number in numbers if number % parts == part % parts]


def problems(verdicts, known, names, every):
    """What is wrong: `verdicts` has what kills each judged mutant, or None; `names` are those of all mutants."""
    wrong = [
        f"survives without a reason: {mutant}"
        for mutant, by in verdicts.items()
        if not by and mutant not in known and whole_function(mutant) not in known
    ]
    there = set(names) | {whole_function(mutant) for mutant in names}
    wrong += [f"is listed, but there is no such mutant: {mutant}" for mutant in known if mutant not in there]
    if every:
        wrong += [f"is listed, but does not survive ({verdicts[mutant]}): {mutant}" for mutant in known if verdicts.get(mutant)]
    return wrong


def self_test():
    names = ["x f: 1", "x f: 2", "y g: 3"]
    cases = [
        ("nothing is wrong", {"x f: 1": "t fails", "y g: 3": None}, {"y g: 3": "why"}, True, 0),
        ("a survivor without a reason", {"x f: 1": None}, {}, False, 1),
        ("a reason for a function", {"x f: 1": None, "x f: 2": "t fails"}, {"x f: *": "why"}, True, 0),
        ("a reason for a killed one", {"x f: 1": "t hangs"}, {"x f: 1": "why"}, True, 1),
        ("a reason for one of another part", {"x f: 1": "t fails"}, {"y g: 3": "why"}, True, 0),
        ("a reason for one that is gone", {}, {"z h: 4": "why"}, False, 1),
    ]
    for what, verdicts, known, every, count in cases:
        if len(problems(verdicts, known, names, every)) != count:
            sys.exit(f"self-test: {what}")
    parts = [of_shard(range(1, 8), f"{part}/3") for part in (1, 2, 3)]
    if parts != [[1, 4, 7], [2, 5], [3, 6]]:
        sys.exit(f"self-test: {parts}")
    # A program that waits for a lock, one that computes, one that fails.
    global IDLE_S
    IDLE_S = 0.5
    programs = {"hangs": "import time; time.sleep(60)", "fails": "exit(1)", None: "pass"}
    programs = [(how, text, 10) for how, text in programs.items()] + [("hangs", "while True: pass", 0.5)]
    for expected, text, limit in programs:
        if run((sys.executable, "-c", text), 0, limit)[0] != expected:
            sys.exit(f"self-test: {text}: not {expected}")
    print(f"self-test: {len(cases) + len(programs)} cases")


def main(code, list_file, *programs):
    survivors, samples = (Path(f"ci/lib/mutants-{code}-{kind}") for kind in ("survivors", "sample"))
    every = programs[:1] in (("--shard",), ("--only",))
    mutants = read_list(Path(list_file).read_text())
    numbers = {mutant: number for number, mutant in mutants.items()}
    if len(numbers) != len(mutants) or not mutants:
        sys.exit("two mutants have one name, or there are none")
    known = read_survivors(survivors.read_text(), survivors)
    if every and programs[0] == "--only":
        files = programs[1].split(",")
        if gone := set(files) - set(map(file, numbers)):
            sys.exit(f"files without mutants: {' '.join(sorted(gone))}")
        chosen, programs = [mutant for mutant in numbers if file(mutant) in files], programs[2:]
    elif every:
        chosen, programs = [mutants[number] for number in of_shard(mutants, programs[1])], programs[2:]
    else:
        sample = read_sample(samples.read_text())
        chosen = sample[int(os.environ["SEED"]) // 2 % 2 :: 2]
        if gone := [mutant for mutant in sample if mutant not in numbers]:
            sys.exit("\n".join([*gone, f"{samples}: there are no such mutants any more; take others of these functions"]))
    judges = limits(programs)
    verdicts = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = {pool.submit(killer, judges, numbers[mutant]): mutant for mutant in chosen}
        for done in concurrent.futures.as_completed(work):
            verdicts[work[done]] = done.result()
            print(f"{done.result() or 'survives'}\t{work[done]}", flush=True)
    if wrong := problems(verdicts, known, numbers, every):
        sys.exit("\n".join([*wrong, f"{len(wrong)} mutants are not accounted for"]))
    for by, count in Counter(by or "survives: a reason is listed" for by in verdicts.values()).most_common():
        print(f"| {by} | {count} |")
    alive = sum(not by for by in verdicts.values())
    print(f"{len(numbers)} mutants of {CODE[code]}, {len(chosen)} of them judged: {len(chosen) - alive} killed, {alive} survive")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        main(*sys.argv[1:])
