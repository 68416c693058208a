"""The claims of this project in docs/verification.md: tables of the scripts of ci/ and of the tests, made from the comments at their heads.

    claims.py            fails if the tables are not those of the page
    claims.py --write    writes them into the page
    claims.py --self-test
"""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path("docs/verification.md")
# What stands around a table in the page; the words are its name.
BEGIN, END = "<!-- made by ci/lib/claims.py: {} -->", "<!-- end -->"
# Keys of ci/test, which are no text.
KEYS = ("order:", "beside:", "apt:")


def first_sentence(lines):
    """The first sentence of a comment's first paragraph."""
    paragraph = []
    for line in lines:
        if not line.strip() or line.startswith("  ") or line.startswith(KEYS):
            break
        paragraph.append(line.strip())
    return re.split(r"(?<=[.])\s", " ".join(paragraph))[0]


def head(text, mark):
    """The comment at the head of a file, without its marks."""
    lines = text.split("\n")
    if lines[0].startswith("#!"):
        lines = lines[1:]
    comment = []
    for line in lines:
        if not line.startswith(mark):
            break
        comment.append(line[len(mark) :].removeprefix(" "))
    return comment


def usage(lines, name, option):
    """What the head of a script says of a call of it with this option, or with none: text that may go on in deeper lines."""
    call = f"ci/{name} {option}".strip()
    for number, line in enumerate(lines):
        found = re.match(rf"  {re.escape(call)}   *(\S.*)", line)
        if not found:
            continue
        text = [found[1]]
        for more in lines[number + 1 :]:
            if not more.startswith("      "):
                break
            text.append(more.strip())
        return " ".join(text)
    return ""


def scripts():
    """Rows of the scripts, in the order of ci/test."""
    rows = []
    for path in Path("ci").iterdir():
        if not path.is_file() or path.name in ("test", "quick"):
            continue
        lines = head(path.read_text(), "#")
        order = next((int(line.split()[1]) for line in lines if line.startswith("order:")), None)
        if order is None:
            sys.exit(f"ci/{path.name} has no line '# order: N'")
        rows.append((order, path.name, first_sentence(lines), usage(lines, path.name, ""), usage(lines, path.name, "--all")))
    yield ("command", "checks")
    for _, name, what, some, every in sorted(rows):
        extent = f" *In `ci/test`:* {some}. *`--all`:* {every}." if every else ""
        yield (f"`ci/{name}`", what + extent)


def tests():
    """Rows of the tests that cargo runs."""
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True)
    yield ("test", "checks")
    for path in sorted(files.stdout.split()):
        place = re.fullmatch(r"(?:(crates/.*?)/)?tests/(?:(\w+)\.rs|(\w+)/main\.rs)", path)
        if not place or "/src/" in path or not Path(path).exists():
            continue
        what = first_sentence(head(Path(path).read_text(), "//!"))
        if not what:
            sys.exit(f"{path} does not say what it tests")
        yield (f"`{path}`", what)


def table(rows):
    """A table of Markdown."""
    rows = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    columns = rows[0].count(" | ") + 1
    return "\n".join([f"| {rows[0]} |", "|" + "---|" * columns] + [re.sub(" +", " ", f"| {row} |") for row in rows[1:]])


def filled(page):
    """The page with its tables made anew."""
    for name, rows in (("scripts", scripts()), ("tests", tests())):
        begin = BEGIN.format(name)
        before, found, rest = page.partition(begin)
        _, end, after = rest.partition(END)
        if not found or not end:
            sys.exit(f"{PAGE} has no place for the {name}: no line '{begin}' with '{END}' after it")
        page = f"{before}{begin}\n\n{table(rows)}\n\n{END}{after}"
    return page


def self_test():
    lines = head("#!/bin/bash\n# One. Two.\n#\n#   ci/x         a few\n#   ci/x --all   all\n#                of them\n# order: 1\n\n# no\n", "#")
    assert first_sentence(lines) == "One.", lines
    assert usage(lines, "x", "") == "a few" and usage(lines, "x", "--all") == "all of them", lines
    assert first_sentence(["Split", "sentence; it", "goes on.", "", "no"]) == "Split sentence; it goes on."
    page = f"a\n{BEGIN.format('scripts')}\n{END}\nb\n{BEGIN.format('tests')}\n{END}\nc\n"
    assert filled(page) != page and filled(filled(page)) == filled(page)
    print("self-test: sentences, usage and places")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit()
    page = PAGE.read_text()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(filled(page))
    elif filled(page) != page:
        sys.exit(f"the tables of {PAGE} are not made from the heads of ci/ and of the tests: python3 ci/lib/claims.py --write")
