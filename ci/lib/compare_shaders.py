"""Compares the surfaces that shaders left on the software i915 (file 1) and on the driver (file 2): ci/lib/shaders.sh printed both.
A changed shader must leave other bytes than the one it was made of."""

import json
import sys

CHANGED = "changed-"


def outcomes(path):
    """What each shader left, by name: the contents of its surfaces, or the text of an error."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            name, said = line.split(" ", 1)
            try:
                found[name] = json.loads(said)["contents"]
            except (ValueError, KeyError):
                # Without the path of the module.
                found[name] = said.split(".spv: ")[-1]
    return found


def main():
    """Exits with 1, saying where, if something came out otherwise, or if a change is not noticed."""
    soft, real = outcomes(sys.argv[1]), outcomes(sys.argv[2])
    wrong = [f"{name}: on one of the two only" for name in soft.keys() ^ real.keys()]
    same, refused, noticed = 0, [], 0
    for name in soft.keys() & real.keys():
        ours, theirs = soft[name], real[name]
        if ours != theirs:
            wrong.append(f"{name}:\n  software i915  {ours}\n  driver         {theirs}")
        elif isinstance(theirs, str):
            refused.append(f"{name}: {theirs}")
        elif name.startswith(CHANGED):
            if theirs == soft[name.removeprefix(CHANGED)]:
                wrong.append(f"{name}: the change is not noticed")
            noticed += 1
        else:
            same += 1
    if not same or not noticed:
        wrong.append(f"{same} shaders compared, {noticed} changes: {refused}")
    for text in sorted(refused):
        print(f"refused on both: {text}")
    count = f"{noticed} change{'s are' if noticed != 1 else ' is'} noticed"
    print("\n".join(wrong) or f"{same} shaders leave the same bytes on the driver and on the software i915; {count}")
    sys.exit(1 if wrong else 0)


main()
