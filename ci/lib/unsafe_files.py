"""Fails if the files with unsafe code are not those that ci/lib/unsafe-files lists."""

import re
import subprocess
from pathlib import Path

import seeds
import workspace
from rust_source import code

LIST = "ci/lib/unsafe-files"
DOCUMENT = "docs/architecture.md"
# The paragraph of the document, and the modules that it names.
PARAGRAPH = re.compile(r"^`unsafe` in `src/`:(.*?)\. ", re.MULTILINE | re.DOTALL)
ALLOW = "#![allow(unsafe_code)]"
SAFETY = re.compile(r"^//! #+ Safety$", re.MULTILINE)
UNSAFE = re.compile(r"\bunsafe\b")
# Lints name it, and so do attributes: `#![deny(unsafe_op_in_unsafe_fn)]` is one word, `#[unsafe(no_mangle)]` is code.


def rust_files(root):
    """Every Rust file that is, or would be, committed."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.rs"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    return sorted({name for name in names if name and (root / name).is_file()})


def undocumented(text, listed):
    """What the document's list of modules lacks, or has too much."""
    paragraph = PARAGRAPH.search(text)
    named = re.findall(r"`([^`]+)`", paragraph[1]) if paragraph else []
    files = [name.removeprefix("src/") for name in listed if name.startswith("src/")]
    covers = lambda module, name: name in (module, f"{module}.rs") or name.startswith(f"{module}/")
    wrong = [f"{DOCUMENT} does not name src/{name}, which has unsafe code"
             for name in files if not any(covers(module, name) for module in named)]
    wrong += [f"{DOCUMENT} names {module}, which has no unsafe code"
              for module in named if not any(covers(module, name) for name in files)]
    return wrong


def violations(root):
    """What is wrong at `root`, and how many files have unsafe code."""
    listed = [line for line in (root / LIST).read_text().split("\n") if line and not line.startswith("#")]
    wrong = []
    if listed != sorted(set(listed)):
        wrong.append(f"{LIST} is not sorted, or names a file twice")
    base, roots = root.resolve(), []
    for package in workspace.packages(root).values():
        roots += [Path(target["src_path"]).relative_to(base) for target in package["targets"]
                  if set(target["kind"]) & {"lib", "rlib", "cdylib", "staticlib"}]
    for library in roots:
        text = code((root / library).read_text())
        if "#![deny(unsafe_code)]" not in text and ALLOW not in text:
            wrong.append(f"{library}: neither #![deny(unsafe_code)] nor {ALLOW}")
    found = []
    for name in rust_files(root):
        text = (root / name).read_text()
        plain = code(text)
        # One section may speak for the submodules, where the permission covers them.
        if any(Path(name).is_relative_to(library.parent) for library in roots) and ALLOW in plain and not SAFETY.search(text):
            wrong.append(f"{name}: {ALLOW}, and no `//! # Safety` section that says what makes it sound")
        if UNSAFE.search(plain):
            found.append(name)
    wrong += [f"{name}: unsafe code, and not in {LIST}" for name in found if name not in listed]
    wrong += [f"{name}: in {LIST}, and without unsafe code" for name in listed if name not in found]
    wrong += undocumented((root / DOCUMENT).read_text(), listed)
    return wrong, f"{len(roots)} libraries; {len(found)} files"


CLEAN = {
    "Cargo.toml": workspace.manifest("whole", '[workspace]\nmembers = ["crates/room/deep"]\n'),
    "crates/room/deep/Cargo.toml": workspace.manifest("deep"),
    "crates/room/deep/src/lib.rs": "#![deny(unsafe_code)]\nmod below;\n",
    LIST: "# why\nsrc/low.rs\ntests/raw.rs\n",
    DOCUMENT: "`unsafe` in `src/`: `low`. More.\n",
    "src/lib.rs": "#![deny(unsafe_code)]\nmod low;\n",
    "src/low.rs": "//! Low.\n//!\n//! # Safety\n//!\n//! All is well.\n#![allow(unsafe_code)]\nfn f() { unsafe { g() } }\n",
    "src/safe.rs": "// unsafe\n/// unsafe { }\nconst A: &str = \"unsafe\"; const B: &str = r#\"unsafe \"quoted\" \"#;\n",
    "tests/raw.rs": "unsafe extern \"C\" {}\n",
}

SEEDS = {
    "a block in another file": ("src/safe.rs", "fn f() { unsafe { g() } }"),
    "a block two levels down": ("crates/room/deep/src/below.rs", "fn f() { unsafe { g() } }"),
    "a root two levels down that no longer denies": ("crates/room/deep/src/lib.rs", "mod below;\n"),
    "a permission two levels down without its section": (
        {"crates/room/deep/src/below.rs": "#![allow(unsafe_code)]\nfn f() { unsafe { g() } }",
         LIST: "crates/room/deep/src/below.rs\nsrc/low.rs\ntests/raw.rs\n"}, "Safety"),
    "a function": ("src/more/mod.rs", "pub unsafe fn f() {}"),
    "an implementation": ("tests/other.rs", "struct A; unsafe impl Send for A {}"),
    "an attribute": ("src/safe.rs", "#[unsafe(no_mangle)] fn f() {}"),
    "code after a quote and a lifetime": ("src/safe.rs", "fn f<'a>(c: char) { if c == '\"' { unsafe { g() } } } // \""),
    "a listed file that is safe now": ("src/low.rs", "fn f() {}"),
    "a permission without its section": ("src/low.rs", "#![allow(unsafe_code)]\nfn f() { unsafe { g() } }"),
    "a list that is not sorted": (LIST, "tests/raw.rs\nsrc/low.rs\n"),
    "a document that names too little": (DOCUMENT, "`unsafe` in `src/`: nothing. More.\n"),
    "a document that names too much": (DOCUMENT, "`unsafe` in `src/`: `low` and `high`. More.\n"),
    "a root that no longer denies": ("src/lib.rs", "// #![deny(unsafe_code)]\nmod low;\n"),
}


seeds.main(violations, CLEAN, SEEDS, "have unsafe code, as listed")
