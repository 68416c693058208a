"""Fails if `ci/xe --all` would notice the mutant that the environment's GEM_COHERENCY_MUTANT names: if on one of its machines the example
xe_requests prints a line that the rules do not print.

    mutants_xe_answers.py XE_REQUESTS

ci/xe makes the requests of such lines on the real driver, which answers as the rules without a mutant say: so it would notice each line with
another answer. It would not notice that a line is missing, nor does this: the example leaves out some requests that are accepted. A mutant that
accepts more prints more of the requests at random instead, so that those of the rules are taken from a longer list.
"""

import os
import subprocess
import sys
from pathlib import Path

MACHINES = Path("ci/lib/xe-machines")


def lines(program, machine, mutant, count):
    """The requests of a machine with their answers, `count` of them at random, as a mutant gives them; "0": as the rules do."""
    _, kernel, rules = machine.split()
    environment = os.environ | {"GEM_COHERENCY_MUTANT": mutant}
    command = [program, rules, kernel, "--random", str(count)]
    return set(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())


def main(program):
    mutant = os.environ["GEM_COHERENCY_MUTANT"]
    machines = [line for line in MACHINES.read_text().splitlines() if not line.startswith("#")]
    for machine in machines:
        if other := lines(program, machine, mutant, 300) - lines(program, machine, "0", 1500):
            sys.exit(f"{machine}: {min(other)}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
