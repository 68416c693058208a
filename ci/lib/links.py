"""Fails if a relative link in a Markdown file leads nowhere: to no file, or to no heading of it."""

import re
import subprocess

import seeds

FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`+[^`\n]*`+")
INLINE = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s+\".*\")?\s*$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def anchors(text):
    """The fragments that headings give, as GitHub makes them; a heading that stands twice gets -1, -2."""
    text = FENCE.sub(blank, text)
    found, count = set(ANCHOR.findall(text)), {}
    for heading in HEADING.findall(text):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = count.get(slug, 0)
        count[slug] = number + 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


def violations(root):
    """What is wrong at `root`, and how many links were followed."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    wrong, seen = [], 0
    for name in sorted({name for name in names if name and (root / name).is_file()}):
        text = FENCE.sub(blank, (root / name).read_text())
        text = CODE.sub(blank, text)
        for match in [*INLINE.finditer(text), *REFERENCE.finditer(text)]:
            target = match.group(1)
            if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                continue
            seen += 1
            where = f"{name}:{text.count(chr(10), 0, match.start(1)) + 1}: {target}"
            path, _, fragment = target.partition("#")
            file = (root / path.lstrip("/") if path.startswith("/") else (root / name).parent / path) if path else root / name
            if not file.exists():
                wrong.append(f"{where}: there is no such file")
            elif fragment and file.suffix == ".md" and fragment not in anchors(file.read_text()):
                wrong.append(f"{where}: {file.name} has no such heading")
    return wrong, seen


CLEAN = {
    "README.md": "# Top\n[a](docs/a.md) [b](docs/a.md#two-words) [c](#top) [d](https://example.org/x) `[e](none)`\n"
                 "```\n[f](none)\n# no heading\n```\n[g]: docs/a.md#again-1\n",
    "docs/a.md": "# `Two` words\n## Again\n## Again\n[up](../README.md)\n",
}
SEEDS = {
    "a missing file": ("docs/a.md", "# Two words\n## Again\n## Again\n[up](README.md)\n"),
    "a missing heading": ("docs/a.md", "# Two word\n## Again\n## Again\n"),
    "a missing heading of its own": ("docs/b.md", "[x](#none)\n"),
    "a reference to a missing file": ("docs/b.md", "[x][1]\n\n[1]: none.md\n"),
    "a heading only in a code block": ("docs/b.md", "[x](../README.md#no-heading)\n"),
}


seeds.main(violations, CLEAN, SEEDS, "relative links lead somewhere")
