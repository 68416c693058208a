"""The claims of this project, from the comments at the heads of the scripts of ci/, which docs/verification.md lists, and of the tests.

    claims.py            fails if the list is not that of the page, or a test's head does not say what it tests
    claims.py --write    writes the list into the page
    claims.py --tests    prints the list of the tests that cargo runs
    claims.py --self-test
"""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path("docs/verification.md")
# What stands around the list in the page.
BEGIN, END = "<!-- made by ci/lib/claims.py -->", "<!-- end -->"
# Keys of ci/test, which are no text.
KEYS = ("order:", "lane:", "apt:")


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
    for _, name, what, some, every in sorted(rows):
        extent = f" *{some} / {every}*" if every else ""
        yield (f"`ci/{name}`", what + extent)


def tests():
    """Rows of the tests that cargo runs."""
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True)
    for path in sorted(files.stdout.split()):
        place = re.fullmatch(r"(?:(crates/.*?)/)?tests/(?:(\w+)\.rs|(\w+)/main\.rs)", path)
        if not place or "/src/" in path or not Path(path).exists():
            continue
        what = first_sentence(head(Path(path).read_text(), "//!"))
        if not what:
            sys.exit(f"{path} does not say what it tests")
        yield (f"`{path}`", what)


def listed(rows):
    """A list of Markdown."""
    return "\n".join(f"* {name}: {what}" for name, what in rows)


def filled(page):
    """The page with its list made anew."""
    before, found, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not found or not end:
        sys.exit(f"{PAGE} has no place for the list: no line '{BEGIN}' with '{END}' after it")
    return f"{before}{BEGIN}\n\n{listed(scripts())}\n\n{END}{after}"


def self_test():
    lines = head("#!/bin/bash\n# One. Two.\n#\n#   ci/x         a few\n#   ci/x --all   all\n#                of them\n# order: 1\n\n# no\n", "#")
    assert first_sentence(lines) == "One.", lines
    assert usage(lines, "x", "") == "a few" and usage(lines, "x", "--all") == "all of them", lines
    assert first_sentence(["Split", "sentence; it", "goes on.", "", "no"]) == "Split sentence; it goes on."
    page = f"a\n{BEGIN}\n{END}\nb\n"
    assert filled(page) != page and filled(filled(page)) == filled(page)
    print("self-test: sentences, usage and places")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit()
    tested = listed(tests())
    if sys.argv[1:] == ["--tests"]:
        print(tested)
        sys.exit()
    page = PAGE.read_text()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(filled(page))
    elif filled(page) != page:
        sys.exit(f"the list of {PAGE} is not made from the heads of ci/: python3 ci/lib/claims.py --write")
