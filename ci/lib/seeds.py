"""The frame of a check: it runs over the working tree, or over trees with violations seeded on purpose."""

import subprocess
import sys
import tempfile
from pathlib import Path


def overlay(seed):
    """The files that a seed lays over, and what must be said: a seed is (path, text), or ({path: text}, words)."""
    if seed is None:
        return {}, ""
    return seed if isinstance(seed[0], dict) else (dict([seed]), "")


def self_test(violations, clean, seeds):
    """Fails unless `clean` (path -> text) passes and every seed laid over it is caught."""
    for what, seed in [("nothing seeded", None), *seeds.items()]:
        files, words = overlay(seed)
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["git", "init", "-q", directory], check=True)
            for path, text in (clean | files).items():
                (Path(directory) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(directory) / path).write_text(text)
            wrong, _ = violations(Path(directory))
        if bool(wrong) != bool(seed):
            sys.exit(f"self-test: {what}: {wrong or 'not caught'}")
        if seed and not any(words in line for line in wrong):
            sys.exit(f"self-test: {what}: {wrong}, and nothing of {words!r}")
    print(f"self-test: {len(seeds)} seeded violations caught")


def main(violations, clean, seeds, verdict):
    """`--self-test`, or the working tree: prints how much was looked at, and `verdict`, if nothing is wrong."""
    if sys.argv[1:] == ["--self-test"]:
        return self_test(violations, clean, seeds)
    wrong, seen = violations(Path("."))
    if wrong:
        sys.exit("\n".join([*wrong, f"{len(wrong)} violations"]))
    if seen == 0:
        sys.exit("nothing was looked at")
    print(f"{seen} {verdict}")
