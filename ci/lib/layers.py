"""Fails if modules import each other against the house rules: see `ci/layers`."""

import fnmatch
import os
import re
import sys
import tomllib
from pathlib import Path

import modules
import seeds
import workspace
from rust_source import code

HIDDEN = "ci/lib/hidden-items"
# A folder with more modules needs a picture, and no picture has more names.
MOST = 12
# A root with fewer modules needs none.
FEWEST = 3
# Inside a room, files that import each other.
LARGEST_CIRCLE = 3
NAMELESS = {"common", "core", "helpers", "misc", "part", "util", "utils"}

PICTURE = re.compile(r"^//! L(\d)\s+(.*)$", re.MULTILINE)
# A name may end with `*`: all modules whose names begin so.
NAME = re.compile(r"[\w]+\*?")
SENTENCE = re.compile(r"\* `(\w+\*?)`: [^.]+\. Not [^.]+\.")
HIDDEN_ITEM = re.compile(
    r"#\[doc\(hidden\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+(?:unsafe\s+|const\s+|async\s+)*(?:mod|fn|struct|enum|trait|type|const|static|use)"
    r"|macro_rules!)\s+([\w:{}, ]+)")


class Picture:
    """The layers of a module's children, as its comment draws them: `L1  device -> bo   uapi: text`."""

    def __init__(self, text):
        self.layer, self.arrows, self.drawn = {}, set(), set()
        for layer, line in PICTURE.findall(text):
            for chain in re.split(r"\s+(?!->)(?<!->\s)", line.split(":")[0].split("(")[0].strip()):
                names = NAME.findall(chain)
                self.layer |= {name: int(layer) for name in names}
                self.drawn |= set(zip(names, names[1:]))
                self.arrows |= {(above, below) for at, above in enumerate(names) for below in names[at + 1 :]}
        comment = " ".join(re.findall(r"^//! ?(.*)$", text, re.MULTILINE))
        self.told = set(SENTENCE.findall(comment))

    def name_of(self, child):
        """The picture's name for a child, or None."""
        if child in self.layer:
            return child
        return next((name for name in self.layer if name.endswith("*") and fnmatch.fnmatchcase(child, name)), None)


class Findings:
    """What is wrong: by folder and kind, with a line for each case."""

    def __init__(self):
        self.cases = {}

    def add(self, folder, kind, *lines, count=None):
        """Adds a case for each line, or `count` cases with these lines."""
        cases, number = self.cases.setdefault((str(folder), kind), ([], 0))
        self.cases[str(folder), kind] = (cases + list(lines), number + (len(lines) if count is None else count))


def check_picture(found, folder, module, arrows, picture):
    """A folder with a picture: the picture and the imports are the same."""
    children = set(module.children)
    named = {child: picture.name_of(child) for child in children}
    found_names = {name for name in named.values() if name}
    if len(picture.layer) > MOST:
        found.add(folder, "names in the picture", f"{len(picture.layer)} names, at most {MOST}", count=len(picture.layer))
    for child in sorted(children):
        if named[child] is None:
            found.add(folder, "modules that the picture lacks", f"mod {child} is in no layer")
    for name in sorted(set(picture.layer) - found_names):
        found.add(folder, "names without a module", f"the picture has {name}, which is no module")
    for name in sorted(set(picture.layer) - picture.told):
        found.add(folder, "names without a sentence", f"no \"* `{name}`: what belongs there. Not what does not.\"")
    for circle in modules.circles(picture.layer, picture.drawn):
        found.add(folder, "names in a drawn circle", f"{' '.join(circle)} are drawn as a circle", count=len(circle))
    seen = set()
    for (above, below), places in sorted(arrows.items()):
        start, end = named[above], named[below]
        if start is None or end is None or start == end:
            continue
        seen.add((start, end))
        layers = picture.layer[start], picture.layer[end]
        at = f"{places[0][0].name}:{places[0][1]}: {above} imports {below}"
        if layers[0] < layers[1]:
            found.add(folder, "imports that point up", f"{at}, which is above it (L{layers[0]}, L{layers[1]})")
        elif layers[0] == layers[1] and (start, end) not in picture.arrows:
            found.add(folder, "imports without an arrow", f"{at}, to which there is no arrow in L{layers[0]}")
    for start, end in sorted(picture.drawn - seen):
        if {start, end} <= found_names:
            found.add(folder, "arrows without an import", f"no module of {start} imports one of {end}")


def check_folder(found, root, module, arrows, is_root):
    """The rules of one folder: the children of `module`."""
    folder = (module.file.parent if module.file.stem in ("lib", "main", "mod") else module.file.with_suffix("")).relative_to(root)
    picture = Picture(module.file.read_text())
    if picture.layer:
        check_picture(found, folder, module, arrows, picture)
    elif len(module.children) > (FEWEST - 1 if is_root else MOST):
        found.add(folder, "modules without a picture", f"{len(module.children)} modules, and no picture in {module.file.name}",
                  count=len(module.children))
    for child in sorted(set(module.children) & NAMELESS):
        found.add(folder, "names that say nothing", f"mod {child}: name it by its subject")
    for circle in modules.circles(module.children, arrows):
        rooms = [name for name in circle if module.children[name].is_room]
        if rooms or picture.layer or len(circle) > LARGEST_CIRCLE:
            found.add(folder, "modules in a circle", f"{' '.join(circle)} import each other", count=len(circle))


def floors_of(nodes, arrows):
    """The floor of each node, from 1, above all that it imports; a circle is on one floor."""
    circles = modules.circles(nodes, arrows)
    whole = {name: tuple(circle) for circle in circles for name in circle}
    group = {name: whole.get(name, (name,)) for name in nodes}
    below = {}
    for start, end in arrows:
        if group[start] != group[end]:
            below.setdefault(group[start], set()).add(group[end])
    floors = {}

    def floor(one):
        if one not in floors:
            floors[one] = 1 + max((floor(under) for under in below.get(one, ())), default=0)
        return floors[one]

    return {name: floor(group[name]) for name in nodes}


def arrows_up(nodes, arrows):
    """How many arrows point up when each circle is laid out by what its nodes import."""
    up = 0
    for circle in modules.circles(nodes, arrows):
        inside = [(start, end) for start, end in arrows if start in circle and end in circle]
        order = sorted(circle, key=lambda name: (sum(s == name for s, _ in inside) - sum(e == name for _, e in inside), name))
        up += sum(order.index(start) < order.index(end) for start, end in inside)
    return up


def sources(folder, package):
    """The Rust source of a package, of its targets and what lies beside them."""
    files = set()
    for target in package["targets"]:
        root = Path(target["src_path"])
        files |= {root} if root.parent == folder or root.parent.name in ("tests", "examples", "benches") else set(root.parent.rglob("*.rs"))
    return [code(file.read_text()) for file in sorted(files)]


def hidden_items(package):
    """The names of the `#[doc(hidden)] pub` items of a package's library."""
    items = set()
    for target in package["targets"]:
        if set(target["kind"]) & {"lib", "cdylib", "staticlib", "rlib"}:
            for file in Path(target["src_path"]).parent.rglob("*.rs"):
                for match in HIDDEN_ITEM.finditer(file.read_text()):
                    items |= set(re.findall(r"\w+", match.group(1).split("::")[-1]))
    return items


def check_hidden(found, root, packages):
    """The hidden items, and the crates that use each, are those of the list."""
    listed = {}
    for line in (root / HIDDEN).read_text().splitlines() if (root / HIDDEN).is_file() else []:
        if line and not line.startswith("#"):
            item, _, users = line.partition(":")
            listed[item] = users.split()
    have = {}
    texts = {package["name"]: sources(root.resolve() / folder, package) for folder, package in packages.items()}
    for package in packages.values():
        library = package["name"].replace("-", "_")
        for item in hidden_items(package):
            # By its path, in the braces of an import, or as a method.
            used = re.compile(rf"\b{library}::(?:[\w:]*::)?(?:\{{[^;]*?)?\b{item}\b|\.{item}\(|\b{item}!")
            users = [name for name, lines in texts.items()
                     if name != package["name"] and any(library in text and used.search(text) for text in lines)]
            # What an exported macro expands to must be public.
            if any(f"$crate::{item}" in text for text in texts[package["name"]]):
                users.append("macros")
            have[f"{package['name']} {item}"] = sorted(users)
    for item in sorted(set(have) | set(listed)):
        if item not in listed:
            found.add(HIDDEN, "hidden items", f"{item} is #[doc(hidden)] pub, and not in the list; used by {' '.join(have[item]) or 'no crate'}")
        elif item not in have:
            found.add(HIDDEN, "hidden items", f"{item} is not #[doc(hidden)] pub: delete its line")
        elif have[item] != listed[item] or not have[item]:
            found.add(HIDDEN, "hidden items", f"{item} is used by {' '.join(have[item]) or 'no crate: make it private'}, not by {' '.join(listed[item])}")


def check_profiles(found, root, manifest):
    """Every `[profile.*.package.NAME]` of a workspace names a package of its lock file: Cargo only warns."""
    text = tomllib.loads((root / manifest).read_text())
    lock = (root / manifest).parent / "Cargo.lock"
    names = {package["name"] for package in tomllib.loads(lock.read_text())["package"]} if lock.is_file() else set()
    for profile, settings in text.get("profile", {}).items():
        for name in settings.get("package", {}):
            if name != "*" and name not in names:
                found.add(manifest, "profiles", f"[profile.{profile}.package.{name}]: no package of that name")


def look(root):
    """What is wrong at `root`, the numbers of each crate, and how many imports and crates were looked at."""
    found, table, seen = Findings(), [], 0
    packages = workspace.packages(root)
    base = root.resolve()
    for folder, package in packages.items():
        numbers = {"files": 0, "rooms": 0, "floors": 0, "arrows": 0, "up": 0, "circle": 0}
        for of_package in package["targets"]:
            target = modules.Target(Path(of_package["src_path"]))
            for file, line, placed in target.placed:
                if not Path(os.path.normpath(placed)).is_relative_to(base / folder):
                    where = file.relative_to(base)
                    found.add(folder, "files of other crates", f"{where}:{line}: #[path] to {os.path.relpath(placed, base)}")
            is_code = not set(of_package["kind"]) & {"test", "example", "bench", "custom-build"}
            for path, arrows in modules.room_arrows(target).items():
                module = target.modules[path]
                # Files of another folder are checked there.
                if not module.file.is_relative_to(Path(of_package["src_path"]).parent) or ".." in module.file.parts:
                    continue
                check_folder(found, base, module, arrows, is_code and path == ())
                seen += sum(map(len, arrows.values()))
                if is_code:
                    floors = floors_of(module.children, arrows)
                    circles = modules.circles(module.children, arrows)
                    numbers["rooms"] = max(numbers["rooms"], len(module.children))
                    numbers["floors"] = max(numbers["floors"], *floors.values())
                    numbers["arrows"] += len(arrows)
                    numbers["up"] += arrows_up(module.children, arrows)
                    numbers["circle"] = max(numbers["circle"], len(circles[0]) if circles else 0)
            numbers["files"] += len(target.modules) if is_code else 0
        table.append((package["name"], *numbers.values()))
    check_hidden(found, root, packages)
    for manifest in workspace.manifests(root):
        if "[workspace]" in (root / manifest).read_text():
            check_profiles(found, root, manifest)
    return found, table, seen, len(packages)


def violations(root):
    """What is wrong at `root`, and how much was looked at."""
    found, _, seen, crates = look(root)
    wrong = []
    for (folder, kind), (lines, count) in sorted(found.cases.items()):
        wrong += [f"{folder}: {line}" for line in lines]
        wrong.append(f"{folder}: {count} {kind}")
    return wrong, f"{seen} imports of {crates} crates"


def print_table(root):
    """Prints the numbers of each crate: those of its library and binaries."""
    _, table, _, _ = look(root)
    print("| crate | files | rooms in the largest folder | floors | arrows | arrows up | largest circle |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for row in table:
        print("|", " | ".join(map(str, row)), "|")
    print(f"{len(table)} crates, as cargo metadata has")


def draw(root, folder):
    """Prints the imports of a folder's modules, and a picture in which all point down but those of circles."""
    for package in workspace.packages(root).values():
        for of_package in package["targets"]:
            target = modules.Target(Path(of_package["src_path"]))
            for path, arrows in modules.room_arrows(target).items():
                file = target.modules[path].file
                if (file.parent if file.stem in ("lib", "main", "mod") else file.with_suffix("")) != (root / folder).resolve():
                    continue
                floors = floors_of(target.modules[path].children, arrows)
                for (start, end), places in sorted(arrows.items()):
                    print(f"{start} -> {end}: {places[0][0].name}:{places[0][1]}")
                for floor in range(max(floors.values()), 0, -1):
                    print(f"//! L{floor - 1}  {'   '.join(sorted(name for name in floors if floors[name] == floor))}")


LIB = """//! L2  top -> other: the top (not: a_word)
//! L1  side -> middle   lonely   gen*
//! L0  bottom
//!
//! * `top`: starts. Not the end.
//! * `other`: ends, in
//!   two lines. Not a start.
//! * `side`: one. Not two.
//! * `middle`: two. Not one.
//! * `lonely`: nothing. Not more.
//! * `gen*`: one each. Not two.
//! * `bottom`: the ground. Not the top.

pub mod bottom; pub mod middle;
mod side;
mod top;
mod other;
mod lonely;
mod gen1;
mod gen2;
"""

CLEAN = {
    "Cargo.toml": workspace.manifest("whole", '[workspace]\nmembers = ["crates/low", "crates/room/deep"]\n[profile.dev.package.whole]\nopt-level = 1\n'),
    "Cargo.lock": 'version = 4\n[[package]]\nname = "whole"\nversion = "0.1.0"\n',
    "src/lib.rs": LIB,
    "src/top.rs": "use crate::{bottom::A, middle};\nuse crate::other::O;",
    "src/other/mod.rs": "use super::middle::B;",
    "src/side.rs": "use crate::middle::B; // crate::top is above\nconst C: &str = \"crate::top\"; /* /* crate::top */ */",
    "src/middle/mod.rs": "mod part1;\nmod inner;\npub use inner::deep::Deep;\npub struct B;\nuse crate::bottom::A;",
    "src/middle/part1.rs": "use super::super::bottom::A; use super::B; mod tests { use super::*; fn top() {} }",
    "src/middle/inner/mod.rs": "pub mod deep;\npub mod left;\nmod right;",
    "src/middle/inner/deep.rs": "pub struct Deep;",
    "src/middle/inner/left.rs": "use super::right::R; pub struct L;",
    "src/middle/inner/right.rs": "pub struct R; fn f(_: super::left::L) {}",
    "src/gen1.rs": "",
    "src/gen2.rs": "",
    "src/lonely.rs": "use super::bottom::A;",
    "src/bottom.rs": "pub struct A;\nfn f<'a>(x: &'a u8) -> char { '\"' }",
    "crates/low/Cargo.toml": workspace.manifest("low"),
    "crates/low/src/lib.rs": "#[doc(hidden)]\npub mod below;\nmod above;\n",
    "crates/low/src/above.rs": "use crate::below::B;",
    "crates/low/src/below.rs": "",
    "crates/room/deep/Cargo.toml": workspace.manifest("deep", '[dependencies]\nlow = { path = "../../low" }\n'),
    "crates/room/deep/src/lib.rs": "use low::below::B;\n",
    HIDDEN: "# why\nlow below: deep\n",
}

UP, NO_ARROW = "imports that point up", "imports without an arrow"
# What is wrong, the files laid over, and the kind that must be found.
SEEDS = {
    "an import": ({"src/bottom.rs": "use crate::middle::B;"}, UP),
    "an import in braces": ({"src/bottom.rs": "use crate::{\n    bottom::A,\n    side::{self, C},\n};"}, UP),
    "a path in an expression": ({"src/middle/mod.rs": "use crate::bottom::A; pub struct B; fn f() { crate::top::run() }"}, UP),
    "a path by super": ({"src/middle/part1.rs": "use super::super::top::T;"}, UP),
    "a path by super from a file of the root": ({"src/bottom.rs": "use super::side::C;"}, UP),
    "an import in a test": ({"src/side.rs": "use crate::middle::B; #[cfg(test)] mod tests { use crate::other::O; }"}, UP),
    "a re-export": ({"src/bottom.rs": "pub use crate::top::T;"}, UP),
    "a path after a lifetime and a quote": ({"src/bottom.rs": "fn f<'a>(c: char) -> bool { c == '\"' || crate::top::t() }"}, UP),
    "a path in a macro": ({"src/bottom.rs": "macro_rules! m { () => { $crate::top::T } }"}, UP),
    "a ground-floor file that imports the top": ({"src/middle/inner/deep.rs": "use crate::top::T; pub struct Deep;"}, UP),
    "an import of a group from below": ({"src/bottom.rs": "use crate::gen2::G;"}, UP),
    "an import two levels down": (
        {"crates/room/deep/src/lib.rs": "//! L1  a\n//! L0  b\n//! * `a`: a. Not b.\n//! * `b`: b. Not a.\nmod a;\nmod b;\nuse low::below::B;",
         "crates/room/deep/src/a.rs": "", "crates/room/deep/src/b.rs": "use crate::a::A;"}, UP),
    "an import in the picture of a room": (
        {"src/middle/inner/mod.rs": "//! L1  left -> right\n//! L0  deep\npub mod deep;\npub mod left;\nmod right;",
         "src/middle/inner/deep.rs": "pub struct Deep; use super::left::L;"}, UP),
    "an import against an arrow": ({"src/middle/mod.rs": "use crate::side::C;"}, NO_ARROW),
    "an import without an arrow": ({"src/lonely.rs": "use super::middle::B;"}, NO_ARROW),
    "an import of a neighbour without an arrow": ({"src/side.rs": "use crate::middle::B; use crate::lonely::D;"}, NO_ARROW),
    "an import through a re-export": (
        {"src/bottom.rs": "pub use crate::gen1::*; pub struct A;", "src/gen1.rs": "pub struct G;", "src/lonely.rs": "use super::bottom::G;"}, NO_ARROW),
    "a module without a layer": ({"src/lib.rs": LIB + "mod stray;", "src/stray.rs": ""}, "modules that the picture lacks"),
    "a name without a module": ({"src/lib.rs": LIB.replace("L0  bottom", "L0  bottom   gone")}, "names without a module"),
    "a name without a sentence": ({"src/lib.rs": LIB.replace("* `side`: one. Not two.", "* `side`: one.")}, "names without a sentence"),
    "a drawn circle": (
        {"src/lib.rs": LIB.replace("side -> middle", "side -> middle   middle -> side"), "src/middle/mod.rs": "use crate::side::C;"},
        "names in a drawn circle"),
    "an arrow without an import": ({"src/lib.rs": LIB.replace("lonely", "lonely -> side", 1)}, "arrows without an import"),
    "a picture with thirteen names": (
        {"src/lib.rs": LIB.replace("L0  bottom", "L0  bottom   a   b   c   d   e   f   g")}, "names in the picture"),
    "a circle with a room": ({"src/middle/part1.rs": "use super::inner::deep::Deep; pub struct P;",
                              "src/middle/inner/left.rs": "use super::right::R; use crate::middle::part1::P; pub struct L;"}, "modules in a circle"),
    "a circle of four files": (
        {"src/middle/inner/mod.rs": "mod a; mod b; mod c; mod d; pub mod deep;"}
        | {f"src/middle/inner/{name}.rs": f"use super::{to}::T; pub struct T;" for name, to in ["ab", "bc", "cd", "da"]}, "modules in a circle"),
    "a folder without a picture": (
        {"src/middle/inner/mod.rs": "pub mod deep;\n" + "".join(f"mod m{n};\n" for n in range(MOST))}
        | {f"src/middle/inner/m{n}.rs": "" for n in range(MOST)}, "modules without a picture"),
    "a crate without a picture": (
        {"crates/low/src/lib.rs": CLEAN["crates/low/src/lib.rs"] + "mod third;\n", "crates/low/src/third.rs": ""}, "modules without a picture"),
    "a name that says nothing": (
        {"src/middle/mod.rs": CLEAN["src/middle/mod.rs"] + "mod util;\n", "src/middle/util.rs": ""}, "names that say nothing"),
    "a file of another crate": (
        {"crates/low/src/above.rs": "#[path = \"../../room/deep/src/other.rs\"]\nmod other; use crate::below::B;",
         "crates/room/deep/src/other.rs": ""}, "files of other crates"),
    "a hidden item that is not listed": ({"src/bottom.rs": "pub struct A;\n#[doc(hidden)]\npub fn secret() {}"}, "hidden items"),
    "a hidden item that is public now": ({"crates/low/src/lib.rs": "pub mod below;\nmod above;\n"}, "hidden items"),
    "a user that needs it no longer": ({"crates/room/deep/src/lib.rs": "// low::below\n"}, "hidden items"),
    "a user that is not listed": ({"src/top.rs": CLEAN["src/top.rs"] + "use low::below::B;"}, "hidden items"),
    "a profile for a package that is gone": (
        {"Cargo.toml": CLEAN["Cargo.toml"].replace("package.whole]", "package.hole]")}, "profiles"),
}


def main():
    """`--table` prints the numbers of each crate, `--draw FOLDER` a folder's picture; otherwise as `seeds.main`."""
    if sys.argv[1:] == ["--table"]:
        print_table(Path("."))
    elif sys.argv[1:2] == ["--draw"]:
        draw(Path("."), sys.argv[2])
    else:
        seeds.main(violations, CLEAN, SEEDS, "are as the pictures say")


if __name__ == "__main__":
    main()
