"""Fails if an unpacked crate (the folder that --crate names) lacks what it refers to or a user needs, or holds anything else."""

import os
import re
import sys
import tempfile
from pathlib import Path

import seeds

# What each crate needs, and what some need more.
NEEDED = ["Cargo.toml", "Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"]
MORE = {
    "gemtool": ["src/main.rs", "install"],
    "gem-coherency-capi": ["install", "man", "gem_coherency.pc.in", "include/gem_coherency.h",
                           "include/gem_coherency_exercise.h"],
}
LIBRARY = [
    "README.md", "docs/driver-guide.md", "docs/gemtool.md", "docs/scripts.md", "docs/json.md",
    "docs/c-api.md", "docs/coherency.md", "docs/verification.md",
    "examples/driver.c", "examples/mini_driver.c", "examples/mini_driver.rs", "examples/own_buffers.c", "examples/own_buffers_xe.c",
    "examples/scripts/forgotten-flush.gemco",
]
# What a user has no use for without the repository; text may speak of it.
REPOSITORY = ("ci", "crates", "fuzz", "loom-tests", "benches", "tests", "CONTRIBUTING.md")
# Kinds of files by folder; anything else is there by mistake.
KINDS = {
    "src": {".rs", ".trace"},
    "examples": {".rs", ".c", ".gemco", ".asm", ".comp", ".frag", ".spv"}, "include": {".h"}, "docs": {".md", ".svg", ".py", ""}, "suppressions": {".txt"},
}
TOP = {"install", "man", "gem_coherency.pc.in", "Cargo.toml", "Cargo.toml.orig", "Cargo.lock", "README.md", "LICENSE-APACHE", "LICENSE-MIT", ".cargo_vcs_info.json"}
LARGEST_BYTES = 1 << 20

INCLUDED = re.compile(r"include(?:_str|_bytes)?!\(\s*\"([^\"]+)\"")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


def references(path, text):
    """What the file at `path` includes or links to, as paths from the root."""
    if path.suffix == ".rs":
        found = INCLUDED.findall(text)
    elif path.suffix == ".md":
        found = [link for link in LINK.findall(FENCE.sub("", text)) if not re.match(r"[a-z]+:", link)]
    else:
        found = []
    return [Path(os.path.normpath(path.parent / one)) for one in found]


def violations(root):
    """What is wrong with the crate at `root`, and how many files it has."""
    files = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file() or path.is_symlink()]
    files = [path for path in files if path.parts[0] != ".git"]
    named = re.search(r'^name = "(.*)"$', (root / "Cargo.toml").read_text(), re.M) if (root / "Cargo.toml").is_file() else None
    wanted = NEEDED + MORE.get(named[1], []) if named and named[1] != "gem-coherency" else NEEDED + LIBRARY
    wrong = [f"{needed}: missing" for needed in wanted if not (root / needed).is_file()]
    for path in files:
        kinds = KINDS.get(path.parts[0], set())
        if str(path) not in TOP and (len(path.parts) == 1 or path.suffix not in kinds or path.name.startswith(".")):
            wrong.append(f"{path}: nothing that belongs into a crate")
        if (root / path).is_symlink() or (root / path).stat().st_size > LARGEST_BYTES:
            wrong.append(f"{path}: a link, or large")
            continue
        text = (root / path).read_text(errors="replace")
        for target in references(path, text):
            if target.parts[0] not in REPOSITORY and not (root / target).exists():
                wrong.append(f"{path}: refers to {target}, which is not in the crate")
    return wrong, len(files)


CLEAN = {name: "" for name in NEEDED + LIBRARY} | {
    "README.md": "[a](docs/gemtool.md#x) [b](crates/vm/README.md) [c](https://example.org/none)\n```\n[d](none)\n```\n",
    "src/lib.rs": "#[doc = include_str!(\"../docs/driver-guide.md\")]\n",
    "docs/gemtool.md": "[up](../README.md)\n",
}
SEEDS = {
    "a document that is not there": ("README.md", "[a](docs/none.md)\n"),
    "an included file that is not there": ("src/lib.rs", "#[doc = include_str!(\"../docs/none.md\")]\n"),
    "a link out of the crate": ("docs/gemtool.md", "[a](../../README.md)\n"),
    "an editor's file": ("src/lib.rs.orig", ""),
    "a hidden file": ("src/.lib.rs", ""),
    "a binary": ("examples/driver.o", ""),
    "a file beside the others": ("notes.md", ""),
    "a large file": ("docs/large.svg", "x" * (LARGEST_BYTES + 1)),
}

with tempfile.TemporaryDirectory() as empty:
    if len(violations(Path(empty))[0]) != len(NEEDED + LIBRARY):
        sys.exit("self-test: what is needed is not missed")
if sys.argv[1:2] == ["--crate"]:
    os.chdir(sys.argv.pop(2))
    del sys.argv[1]
seeds.main(violations, CLEAN, SEEDS, "files, and all that they refer to")
