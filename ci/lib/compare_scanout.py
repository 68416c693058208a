"""Compares what `gemtool scanout --json` says on the software i915 (file 1) and on the driver (file 2): step by step the same."""

import json
import sys


def steps(path):
    """The rows, without what the two need not have in common."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    rows = [{key: value for key, value in row.items() if key != "handle"} for row in report["rows"]]
    return report["kernel_flushes"], report["passed"], rows


def main():
    """Exits with 1, saying which steps, if they differ or the driver's flushes were not traced."""
    (_, soft_passed, soft), (known, passed, real) = steps(sys.argv[1]), steps(sys.argv[2])
    wrong = [f"software: {one}\ndriver: {other}" for one, other in zip(soft, real) if one != other]
    if len(soft) != len(real):
        wrong.append(f"{len(soft)} steps on the software i915, {len(real)} on the driver")
    if known != "traced":
        wrong.append(f"the driver's flushes are not traced: {known}")
    if not (soft_passed and passed):
        wrong.append("it did not hold")
    print("\n".join(wrong) or f"gemtool scanout takes the same {len(real)} steps on the driver and on the software i915")
    sys.exit(1 if wrong or not real else 0)


main()
