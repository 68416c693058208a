"""Fails if a `console` block of a document does not show what a program prints; a line `...` stands for lines that are left out.

    shown_output.py PROGRAM DOCUMENT [COMMAND]
    shown_output.py --self-test

COMMAND is how the document calls the program; `gemtool` by default.
"""

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "..."


def examples(text):
    """Each command of a block, and the lines shown below it."""
    found = []
    for block in BLOCK.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line.rstrip())
    return found


def matches(shown, printed):
    """Whether the printed lines are the shown ones, with any lines where some are left out."""
    parts, part = [], []
    for line in shown:
        if line == LEFT_OUT:
            parts.append(part)
            part = []
        else:
            part.append(line)
    first, *others = [*parts, part]
    if printed[:len(first)] != first:
        return False
    if not others:
        return len(printed) == len(first)
    at = len(first)
    *middle, last = others
    for part in middle:
        starts = range(at, len(printed) - len(part) + 1)
        start = next((start for start in starts if printed[start:start + len(part)] == part), None)
        if start is None:
            return False
        at = start + len(part)
    return len(printed) - len(last) >= at and printed[len(printed) - len(last):] == last


def run(program, name, command):
    """The lines that a command prints; if it refuses (status 2), its errors. Status 1 is an answer: a counterexample, a wrong picture."""
    words, named = command.split(), name.split()
    if words[:len(named)] != named:
        sys.exit(f"$ {command}: not a command of {name}")
    done = subprocess.run([program, *words[len(named):]], capture_output=True, text=True)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"$ {command}: {done.stderr.strip()}")
    printed = done.stderr if done.returncode == 2 else done.stdout
    return [line.rstrip() for line in printed.splitlines()]


def self_test():
    """Fails unless right blocks are taken and wrong ones are refused."""
    printed = ["a", "b", "", "c", "b", "d"]
    right = [printed, ["..."], ["a", "...", "d"], ["...", "b", "", "c", "..."], ["...", "b", "...", "b", "..."], ["a", "b", "...", "b", "d"]]
    wrong = [["a", "b"], ["b", "..."], ["...", "c"], ["...", "c", "...", "c", "..."], ["a", "x", "...", "d"], ["...", "b", "c", "..."], [],
             ["...", "d", "...", "d"]]
    for shown in right:
        if not matches(shown, printed):
            sys.exit(f"self-test: refused: {shown}")
    for shown in wrong:
        if matches(shown, printed):
            sys.exit(f"self-test: not refused: {shown}")
    if examples("x\n```console\n$ gemtool y\n1\n\n2\n$ gemtool z\n```\n") != [("gemtool y", ["1", "", "2"]), ("gemtool z", [])]:
        sys.exit("self-test: blocks are not found")
    print(f"self-test: {len(wrong)} wrong outputs refused")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    program, document, *name = sys.argv[1:]
    name = name[0] if name else "gemtool"
    count = 0
    for command, shown in examples(Path(document).read_text(encoding="utf-8")):
        if not matches(shown, run(program, name, command)):
            sys.exit(f"{document}: {name} does not print what is shown below `$ {command}`")
        count += 1
    if count == 0:
        sys.exit(f"{document}: no command is shown")
    print(f"{count} commands of {document} print what is shown")


main()
