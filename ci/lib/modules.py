"""The modules of a Rust target: its files, and which of them import which.

Names that a module re-exports count as imports of the module that declares them, so that a circle cannot hide behind a `pub use`."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from rust_source import code, line_of

DECLARED = re.compile(r"(?<![\w:])mod\s+(\w+)\s*([;{])")
# The file of a module that says where it is.
PLACED = re.compile(r"#\[path\s*=\s*\"([^\"]+)\"\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
# The start of a path from the crate's root, or from a module above.
PATH = re.compile(r"(?<![\w:$])(?:\$?crate|(?:self\s*::\s*)?super(?:\s*::\s*super)*)\s*::\s*")
USE = re.compile(r"(?<![\w:])use\s+")
ITEM = re.compile(r"(?<![\w:])(?:fn|struct|enum|union|trait|type|const|static|macro_rules!|macro)\s+(?:mut\s+)?(\w+)")
WORD = re.compile(r"\w+")
SPACE = re.compile(r"\s*")
# No re-export is followed further.
DEEPEST = 8


@dataclass
class Module:
    """A module with a file of its own; `path` is its name from the root, a tuple."""

    path: tuple
    file: Path
    text: str
    children: dict = field(default_factory=dict)
    # What its `use` declarations name here: name to path from the root; and the paths of `use x::*`.
    names: dict = field(default_factory=dict)
    globs: list = field(default_factory=list)
    # The inline modules: where each begins and ends.
    inline: list = field(default_factory=list)
    # The items that it declares outside these.
    items: set = field(default_factory=set)

    @property
    def is_room(self):
        """Whether it has files of its own below it."""
        return bool(self.children)

    def depth(self, offset):
        """How many inline modules surround the text at `offset`."""
        return sum(start < offset < end for start, end in self.inline)


def closing(text, start):
    """Where the brace that opens at `start` closes."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(text)


def tree_paths(text, at, before=()):
    """The paths of a use tree that begins at `at`, or of a path in an expression, as (tuple of words, new name or None); `*` is a word."""
    at = SPACE.match(text, at).end()
    if text.startswith("{", at):
        end, depth, start, parts = closing(text, at), 0, at + 1, []
        for place in range(at + 1, end + 1):
            char = text[place] if place < len(text) else "}"
            if place == end or char == "," and depth == 0:
                parts.append(start)
                start = place + 1
            elif char in "{}":
                depth += 1 if char == "{" else -1
        for part in parts:
            if SPACE.match(text, part).end() < end:
                yield from tree_paths(text, part, before)
        return
    if text.startswith("*", at):
        yield (*before, "*"), None
        return
    word = WORD.match(text, at)
    if not word:
        return
    path = before if word.group() == "self" and before else (*before, word.group())
    after = re.compile(r"\s*::\s*(?=[\w{*])").match(text, word.end())
    if after:
        yield from tree_paths(text, after.end(), path)
        return
    renamed = re.compile(r"\s+as\s+(\w+)").match(text, word.end())
    yield path, renamed.group(1) if renamed else None


class Target:
    """A library or binary: its module tree from the root file."""

    def __init__(self, root_file):
        self.modules = {}
        # The files that are where an attribute says: (file that says so, line, file).
        self.placed = []
        self._read((), root_file, root_file.parent)
        for module in self.modules.values():
            self._read_names(module)

    def _read(self, path, file, folder):
        """Reads the module at `file`, whose children are in `folder`."""
        source = file.read_text()
        text = code(source)
        module = self.modules[path] = Module(path, file, text)
        placed = {}
        for match in PLACED.finditer(source):
            placed[match.group(2)] = file.parent / match.group(1)
            self.placed.append((file, line_of(source, match.start()), placed[match.group(2)]))
        for match in DECLARED.finditer(text):
            name = match.group(1)
            if match.group(2) == "{":
                module.inline.append((match.start(), closing(text, match.end() - 1)))
                continue
            if name in placed:
                options = [(placed[name], placed[name].parent)]
            else:
                options = [(folder / f"{name}.rs", folder / name), (folder / name / "mod.rs", folder / name)]
            for child, below in options:
                if child.is_file() and (*path, name) not in self.modules:
                    module.children[name] = self._read((*path, name), child, below)
        module.items = {match.group(1) for match in ITEM.finditer(text) if not module.depth(match.start())}
        return module

    def _from_root(self, module, offset, words):
        """A path as written at `offset` of `module`, from the root; None for one of another crate."""
        here = module.path
        depth = module.depth(offset)
        if words[0] in ("crate", "$crate"):
            return words[1:]
        while words and words[0] in ("self", "super"):
            if words[0] == "super":
                if depth:
                    depth -= 1
                elif here:
                    here = here[:-1]
            words = words[1:]
        if depth:
            return None
        return (*here, *words)

    def _read_names(self, module):
        for match in USE.finditer(module.text):
            if module.depth(match.start()):
                continue
            for words, renamed in tree_paths(module.text, match.end()):
                if words[0] in ("crate", "self", "super"):
                    path = self._from_root(module, match.start(), words)
                elif words[0] in module.children:
                    path = (*module.path, *words)
                else:
                    continue
                if path is None or not path:
                    continue
                if path[-1] == "*":
                    module.globs.append(path[:-1])
                else:
                    module.names[renamed or path[-1]] = path

    def find(self, path, depth=0):
        """The path of the module that declares what `path` (from the root) names: re-exports are followed."""
        module = self.modules[()]
        for at, name in enumerate(path):
            if name in module.children:
                module = module.children[name]
                continue
            if depth < DEEPEST and name in module.names and module.names[name] != path[: at + 1]:
                return self.find((*module.names[name], *path[at + 1 :]), depth + 1)
            if depth < DEEPEST and name != "*" and name not in module.items:
                for glob in module.globs:
                    found = self.find((*glob, name), depth + 1)
                    if found != module.path and name in self.modules[found].items:
                        return found
            return module.path
        return module.path

    def imports(self, module):
        """Every import of `module` from its own target: (line, path of the module that declares it)."""
        for match in PATH.finditer(module.text):
            prefix = tuple(WORD.findall(match.group()))
            for words, _ in tree_paths(module.text, match.end(), prefix):
                path = self._from_root(module, match.start(), words)
                if path is not None:
                    yield line_of(module.text, match.start()), self.find(path)


def room_arrows(target):
    """The arrows between the children of each module: {parent's path: {(child, child): [(file, line), ...]}}."""
    arrows = {path: {} for path, module in target.modules.items() if module.is_room}
    for module in target.modules.values():
        for line, to in target.imports(module):
            shared = 0
            while shared < min(len(module.path), len(to)) and module.path[shared] == to[shared]:
                shared += 1
            # Of a module above, or of one's own below, no neighbour is named.
            if shared < len(module.path) and shared < len(to):
                places = arrows[to[:shared]].setdefault((module.path[shared], to[shared]), [])
                places.append((module.file, line))
    return arrows


def circles(nodes, arrows):
    """The circles: each a sorted list of the nodes that reach each other, largest first."""
    below = {node: sorted({to for start, to in arrows if start == node}) for node in nodes}
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        work = [(node, iter(below[node]))]
        index[node] = low[node] = len(index)
        stack.append(node)
        while work:
            at, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    work.append((to, iter(below[to])))
                    break
                if to in stack:
                    low[at] = min(low[at], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    place = stack.index(at)
                    found.append(sorted(stack[place:]))
                    del stack[place:]

    for node in sorted(nodes):
        if node not in index:
            visit(node)
    return sorted((circle for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle))
