"""Reads `cargo metadata`; fails on a dependency whose licence or origin the project may not use."""

import json
import re
import sys

# Permissive, and compatible with MIT OR Apache-2.0.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT",
    "Unicode-3.0", "Unlicense", "Zlib",
}
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def is_allowed(expression):
    """Whether an SPDX expression leaves a choice that is on the list; AND binds closer than OR."""
    # The old form of OR is a slash.
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def either():
        value = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            # Both sides are read, whatever the first one says.
            value = both() or value
        return value

    def both():
        value = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            value = one() and value
        return value

    def one():
        word = tokens.pop(0) if tokens else ""
        if word == "(":
            value = either()
            return tokens.pop(0) == ")" and value if tokens else False
        if tokens[:1] == ["WITH"]:
            word = " ".join([word, tokens.pop(0), tokens.pop(0) if tokens else ""])
        return word in ALLOWED

    return either() and not tokens


def violations(metadata):
    """What is wrong with the packages, and how many are other people's."""
    wrong, others = [], 0
    members = set(metadata["workspace_members"])
    for package in metadata["packages"]:
        name = f"{package['name']} {package['version']}"
        if package["id"] in members:
            for dependency in package["dependencies"]:
                if dependency["req"] == "*" and not dependency.get("path"):
                    wrong.append(f"{name}: depends on any version of {dependency['name']}")
            continue
        others += 1
        if package["source"] != CRATES_IO:
            wrong.append(f"{name}: comes from {package['source']}, not from crates.io")
        if not is_allowed(package["license"] or ""):
            wrong.append(f"{name}: licence '{package['license']}' is not on the list in ci/lib/licences.py")
    return wrong, others


def self_test():
    """Fails unless good packages pass and every seeded violation is caught."""
    for good in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0",
                 "Apache-2.0 WITH LLVM-exception OR GPL-2.0", "GPL-2.0 OR MIT AND ISC"]:
        if not is_allowed(good):
            sys.exit(f"self-test: '{good}' is refused")
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC", "MIT ISC", "MIT WITH LLVM-exception", "MPL-2.0",
                "MIT OR Apache-2.0)", "(MIT OR ISC) AND LGPL-2.1"]:
        if is_allowed(bad):
            sys.exit(f"self-test: '{bad}' is let through")
    other = {"id": "b", "name": "b", "version": "1.0.0", "source": CRATES_IO, "license": "MIT"}
    own = {"id": "a", "name": "a", "version": "0.1.0", "source": None, "license": "MIT",
           "dependencies": [{"name": "b", "req": "^1"}]}
    clean = {"workspace_members": ["a"], "packages": [own, other]}
    if violations(clean)[0]:
        sys.exit("self-test: a clean workspace is refused")
    seeds = [
        [own, other | {"license": None}],
        [own, other | {"license": "AGPL-3.0"}],
        [own, other | {"source": "git+https://example.org/b"}],
        [own | {"dependencies": [{"name": "b", "req": "*"}]}, other],
    ]
    for seed in seeds:
        if not violations(clean | {"packages": seed})[0]:
            sys.exit(f"self-test: not caught: {seed}")
    print(f"self-test: {len(seeds)} seeded violations caught")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    wrong, others = violations(json.load(sys.stdin))
    if others == 0:
        sys.exit("no dependency was looked at")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{others} dependencies, all from crates.io, all with a licence on the list; advisories are not checked")


main()
