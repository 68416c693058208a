"""Compares what scripts did on the software i915 (file 1) and on the driver (file 2): ci/lib/scripts.sh printed both.

Handles may differ, and so does what only a software device can tell: on the driver it is skipped."""

import json
import re
import sys

ONLY_SOFTWARE = "the device does not meet 'software'"
ENDS_THERE = f"{ONLY_SOFTWARE}: the script ends here"
# The fields that a real device does not report.
ONLY_KNOWN_THERE = ("kernel_flushes", "dispatched")


def plain(step):
    """What of a step is the same on both."""
    text = json.dumps({key: value for key, value in step.items() if key not in ONLY_KNOWN_THERE})
    return re.sub(r"\b(handles?|BO) \d+( and \d+)?", r"\1 N", text)


def reports(path):
    """The report of each script; a line that is none is what gemtool said instead."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    try:
        return {report["script"]: report for report in map(json.loads, lines)}
    except ValueError:
        sys.exit("\n".join(lines))


def main():
    """Exits with 1, saying where, if something came out otherwise."""
    soft, real = reports(sys.argv[1]), reports(sys.argv[2])
    wrong = [f"{name}: on one of the two only" for name in soft.keys() ^ real.keys()]
    steps = 0
    for name in soft.keys() & real.keys():
        one, other = soft[name], real[name]
        if other["steps"] and other["steps"][-1].get("why") == ENDS_THERE:
            steps_here = len(other["steps"]) - 1
            one["steps"], other["steps"] = one["steps"][:steps_here], other["steps"][:steps_here]
        if not (one["passed"] and other["passed"]) or len(one["steps"]) != len(other["steps"]):
            wrong.append(f"{name}: passed {one['passed']} {other['passed']}, steps {len(one['steps'])} {len(other['steps'])}")
        for ours, theirs in zip(one["steps"], other["steps"]):
            if theirs.get("why") == ONLY_SOFTWARE:
                continue
            steps += 1
            if plain(ours) != plain(theirs):
                wrong.append(f"{name}:{ours['line']}:\n  software i915  {plain(ours)}\n  driver         {plain(theirs)}")
    same = f"{steps} steps of {len(real)} scripts come out the same on the driver and on the software i915"
    print("\n".join(wrong) or same)
    sys.exit(1 if wrong or steps == 0 else 0)


main()
