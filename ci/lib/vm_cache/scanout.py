"""Compares the pictures of two outputs of `gemtool scanout --json`: file 1 of the software i915, file 2 of the driver. The same
pictures have to be drawn, and the same ones have to be stale; with which old bytes is not compared, because the display may read those of a
previous owner. Prints how many are right and how many stale."""

import json
import sys


def pictures(path):
    """The CRC of what was drawn at each step that shows something, and whether the display read the same."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    if report["display_crcs"] not in ("simulated", "measured"):
        sys.exit(f"{path}: the display's CRCs are not known: {report['display_crcs']}")
    rows = ((f"{row['step']} {row['buffer']}", row["crc"]) for row in report["rows"])
    return [(step, crc["expected"], crc["read"] == crc["expected"]) for step, crc in rows if crc]


def main():
    """Exits with 1, saying which pictures, if they differ, or if there are none."""
    soft, real = (pictures(path) for path in sys.argv[1:])
    if not soft or len(soft) != len(real):
        sys.exit(f"{len(soft)} pictures on the software i915, {len(real)} on the driver")
    wrong = [f"software: {one}, driver: {other}" for one, other in zip(soft, real) if one != other]
    if wrong:
        sys.exit("\n".join(wrong))
    right = sum(held for _, _, held in real)
    print(f"{right} right, {len(real) - right} stale" if right < len(real) else f"all {right} right")


main()
