"""The frame of a check: it runs over the working tree, or over trees with violations seeded on purpose."""

import subprocess
import sys
import tempfile
from pathlib import Path


def self_test(violations, clean, seeds):
    """Fails unless `clean` (path -> text) passes and every seed (path, text) laid over it is caught."""
    for what, seed in [("nothing seeded", None), *seeds.items()]:
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["git", "init", "-q", directory], check=True)
            for path, text in [*clean.items(), *([seed] if seed else [])]:
                (Path(directory) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(directory) / path).write_text(text)
            wrong, _ = violations(Path(directory))
        if bool(wrong) != bool(seed):
            sys.exit(f"self-test: {what}: {wrong or 'not caught'}")
    print(f"self-test: {len(seeds)} seeded violations caught")


def main(violations, clean, seeds, verdict):
    """`--self-test`, or the working tree: prints `verdict` with how much was looked at, if nothing is wrong."""
    if sys.argv[1:] == ["--self-test"]:
        return self_test(violations, clean, seeds)
    wrong, seen = violations(Path("."))
    if wrong:
        sys.exit("\n".join([*wrong, f"{len(wrong)} violations"]))
    if seen == 0:
        sys.exit("nothing was looked at")
    print(f"{seen} {verdict}")
