"""Compares what `gemtool info --json` (file 1) says of GETPARAM with what the device said directly (file 2)."""

import json
import sys


def main():
    """Exits with 1, saying which, if a parameter differs or is missing."""
    with open(sys.argv[1], encoding="utf-8") as file:
        said = {row["param"]: row["value"] for row in json.load(file)["params"]}
    with open(sys.argv[2], encoding="utf-8") as file:
        asked = dict(line.split() for line in file)
    wrong = [
        f"{name}: info says {said.get(name)}, the device {value}"
        for name, value in asked.items()
        if not value.startswith("errno-") and str(said.get(name)) != value
    ]
    print("\n".join(wrong) or f"gemtool info agrees with {len(asked)} parameters")
    sys.exit(1 if wrong or not asked else 0)


main()
