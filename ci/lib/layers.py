"""Fails if a module imports one from a layer above its own, or one of its own layer without an arrow to it. The layers are the
picture in the crate's src/lib.rs."""

import re

import seeds
from rust_source import code, line_of

PICTURE = re.compile(r"^//! L(\d)\s+(.*)$", re.MULTILINE)
MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
# `crate::`, the library's own name (as its binary says), or any number of `super::`.
PATH = re.compile(r"(?<![\w:])(crate\s*::|gem_coherency\s*::|(?:self\s*::\s*)?(?:super\s*::\s*)+)\s*")
NAME = re.compile(r"\w+")


def layers(lib):
    """Module to layer, and the arrows from module to module, as the picture in lib.rs has them: `L1  device -> bo   uapi: text`."""
    found, arrows = {}, set()
    for layer, text in PICTURE.findall(lib):
        for chain in re.split(r"\s+(?!->)(?<!->\s)", text.split(":")[0].split("(")[0].strip()):
            modules = re.findall(r"\w+", chain)
            found |= {module: int(layer) for module in modules}
            arrows |= {(above, below) for at, above in enumerate(modules) for below in modules[at + 1 :]}
    return found, arrows


def first_names(text, at):
    """The names that a path goes on with at `at`: one, or several in braces (`{a::B, c}`)."""
    if not text.startswith("{", at):
        match = NAME.match(text, at)
        return [match.group()] if match else []
    names, depth, expected = [], 0, True
    while at < len(text):
        char = text[at]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                break
        elif char == "," and depth == 1:
            expected = True
        elif depth == 1 and expected and (match := NAME.match(text, at)):
            names.append(match.group())
            expected = False
            at = match.end()
            continue
        at += 1
    return names


def imports(path, text):
    """Every (line, first module, whether the path says so itself) that the file at `path`, below src/, names."""
    here = [*path.parent.parts, *([] if path.stem in ("mod", "lib", "main") else [path.stem])]
    for match in PATH.finditer(text):
        supers = match.group(1).count("super")
        if supers == 0:
            for name in first_names(text, match.end()):
                yield line_of(text, match.start()), name, True
        elif supers >= len(here):
            # From the root, or from one further in: inside an inline module each `super` leads less far.
            for name in first_names(text, match.end()):
                yield line_of(text, match.start()), name, False


def violations(root):
    """What is wrong in each crate below `root` that has a picture, and how many imports were looked at."""
    wrong, seen = [], 0
    for lib in sorted([root / "src/lib.rs", *root.glob("crates/*/src/lib.rs")]):
        if PICTURE.search(lib.read_text()):
            of_crate = violations_of(lib, lib.relative_to(root).parent)
            wrong, seen = wrong + of_crate[0], seen + of_crate[1]
    return wrong, seen


def violations_of(lib, src):
    """As `violations`, of the crate with this lib.rs, whose folder is called `src`."""
    text = lib.read_text()
    layer, arrows = layers(text)
    wrong, seen = [], 0
    declared = MODULE.findall(code(text))
    for module in declared:
        if module not in layer:
            wrong.append(f"{src}/lib.rs: mod {module} is in no layer of the picture")
    for file in sorted(lib.parent.rglob("*.rs")):
        path = file.relative_to(lib.parent)
        module = path.parts[0].removesuffix(".rs")
        if module == "lib":
            continue
        if module not in layer:
            wrong.append(f"{src}/{path}: {module} is in no layer of the picture in {src}/lib.rs")
            continue
        for line, name, explicit in imports(path, code(file.read_text())):
            seen += 1
            # Root re-exports start with a capital; a module they come from is named in its own import.
            if name not in layer:
                if explicit and name in declared:
                    wrong.append(f"{src}/{path}:{line}: {name} is in no layer")
            elif layer[name] > layer[module]:
                wrong.append(
                    f"{src}/{path}:{line}: {module} (L{layer[module]}) imports {name} (L{layer[name]}), which is above it"
                )
            elif layer[name] == layer[module] and name != module and (module, name) not in arrows:
                wrong.append(f"{src}/{path}:{line}: {module} imports {name}, to which there is no arrow in L{layer[module]}")
    return wrong, seen


LIB = """//! L2  top -> other: the top (not: a_word)
//! L1  side -> middle   lonely
//! L0  bottom

pub mod bottom; pub mod middle;
mod side;
mod top;
mod other;
mod lonely;
"""

CLEAN = {
    "src/lib.rs": LIB,
    "src/top.rs": "use crate::{bottom::A, middle};",
    "src/other/mod.rs": "use super::middle::B;",
    "src/side.rs": "use crate::middle::B; // crate::top is above\nconst C: &str = \"crate::top\"; /* /* crate::top */ */",
    "src/middle/mod.rs": "use crate::bottom::A;",
    "src/middle/part.rs": "use super::super::bottom::A; mod tests { use super::*; fn top() {} }",
    "crates/low/src/lib.rs": "//! L1  above\n//! L0  below\n\nmod above;\nmod below;\n",
    "crates/low/src/above.rs": "use crate::below::B;",
    "crates/low/src/below.rs": "",
    "crates/free/src/lib.rs": "mod unlisted;\n",
    "src/lonely.rs": "use super::bottom::A;",
    "src/bottom.rs": "fn f<'a>(x: &'a u8) -> char { '\"' }",
}

SEEDS = {
    "an import in another crate": ("crates/low/src/below.rs", "use crate::above::A;"),
    "an import": ("src/bottom.rs", "use crate::middle::B;"),
    "an import in braces": ("src/bottom.rs", "use crate::{\n    bottom::A,\n    side::{self, C},\n};"),
    "a path in an expression": ("src/middle/mod.rs", "fn f() { crate::top::run() }"),
    "a path by super": ("src/middle/part.rs", "use super::super::top::T;"),
    "a path by super from a file of the root": ("src/bottom.rs", "use super::side::C;"),
    "an import in a test": ("src/side.rs", "#[cfg(test)] mod tests { use crate::other::O; }"),
    "an import against an arrow": ("src/middle/mod.rs", "use crate::side::C;"),
    "an import without an arrow": ("src/lonely.rs", "use super::middle::B;"),
    "an import of a neighbour without an arrow": ("src/side.rs", "use crate::lonely::D;"),
    "a re-export": ("src/bottom.rs", "pub use crate::top::T;"),
    "a path after a lifetime and a quote": ("src/bottom.rs", "fn f<'a>(c: char) -> bool { c == '\"' || crate::top::t() }"),
    "a path in a macro": ("src/middle/mod.rs", "macro_rules! m { () => { $crate::top::T } }"),
    "a module without a layer": ("src/lib.rs", LIB + "mod stray;"),
    "a file without a layer": ("src/stray.rs", ""),
}


seeds.main(violations, CLEAN, SEEDS, "imports point down")
