#!/usr/bin/env python3
"""Checks that text in pictures is legible on light and on dark pages.

    contrast.py PICTURE...    fails, and names the text and its ground, if the contrast of a pair is below 4.5 (WCAG 2.2, level AA)
    contrast.py --self-test   the faults below must be found

A picture names colours by class and holds them in its style sheet, once for light and once for dark pages. The ground of a text is what was
drawn last below its beginning, its middle or its end. A class has the same colours in every picture. On dark pages the card is dark.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LEAST = 4.5
SVG = "{http://www.w3.org/2000/svg}"
DARK = "@media (prefers-color-scheme: dark){"


def luminance(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def rules(text):
    return dict(re.findall(r"\.([fs]-[a-z-]+)\{(?:fill|stroke):(#[0-9a-f]{6})\}", text))


def covers(shape, x, y):
    """Whether a shape has the point inside it."""
    of = lambda name: float(shape.get(name, 0))
    if shape.tag == f"{SVG}rect":
        return of("x") <= x <= of("x") + of("width") and of("y") <= y <= of("y") + of("height")
    if shape.tag == f"{SVG}circle":
        return (x - of("cx")) ** 2 + (y - of("cy")) ** 2 <= of("r") ** 2
    return False


def points(text):
    """Where a text begins, its middle and its end, by an average width of letters."""
    x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
    width = 0.55 * size * len(text.text or "")
    left = x - {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
    return [(left + width * part, y - size / 3) for part in (0.02, 0.5, 0.9)]


def filled(node):
    return next((name for name in node.get("class", "").split() if name.startswith("f-")), None)


def problems(picture, known):
    """What is wrong in the text of a picture, and its pairs; `known` has the colours of the pictures before it."""
    root = ElementTree.fromstring(picture)
    sheet = root.findtext(f"{SVG}style") or ""
    if DARK not in sheet:
        return ["no colours for dark pages"], set()
    sheets = [rules(part) for part in sheet.split(DARK)]
    found, pairs, shapes = [], set(), []
    for name in sheets[0].keys() | sheets[1].keys():
        shades = tuple(part.get(name) for part in sheets)
        if known.setdefault(name, shades) != shades:
            found.append(f"{name} is {shades} here, {known[name]} in another picture")
    for node in root.iter():
        classes = node.get("class", "").split()
        found += [f"{one} has no colour on a {page} page" for one in classes
                  for page, part in zip(("light", "dark"), sheets) if one not in part]
        found += [f"the colour {node.get(name)} does not change" for name in ("fill", "stroke") if node.get(name, "none") != "none"]
        if node.tag != f"{SVG}text":
            shapes += [node] if filled(node) else []
            continue
        for x, y in points(node):
            ground = next((filled(shape) for shape in reversed(shapes) if covers(shape, x, y)), None)
            if not filled(node) or not ground:
                found.append(f"'{node.text}' has no colour, or no ground")
                continue
            pairs.add((filled(node), ground))
    if not shapes or luminance(sheets[1].get(filled(shapes[0]), "#ffffff")) > 0.1:
        found.append("the card is not dark on a dark page")
    for letters, ground in sorted(pairs):
        for page, part in zip(("light", "dark"), sheets):
            if letters in part and ground in part and (value := contrast(part[letters], part[ground])) < LEAST:
                found.append(f"{letters} on {ground}: contrast {value:.1f} on a {page} page")
    return sorted(set(found)), pairs


def self_test():
    sheet = ".f-paper{fill:#ffffff}.f-ink{fill:#1f2933}.f-box{fill:#d5f0dd}" + DARK + \
        ".f-paper{fill:#161b22}.f-ink{fill:#e6edf3}.f-box{fill:#173f27}}"
    sound = f'<svg xmlns="http://www.w3.org/2000/svg"><style>{sheet}</style><rect width="99" height="99" class="f-paper"/>' \
        '<rect x="20" width="9" height="99" class="f-box"/><text x="22" y="50" font-size="9" class="f-ink">a</text></svg>'
    assert problems(sound, {}) == ([], {("f-ink", "f-box")}), problems(sound, {})
    assert abs(contrast("#000000", "#ffffff") - 21) < 0.01 and contrast("#7b8794", "#ffffff") < LEAST
    for old, new, what in [
        ("#e6edf3", "#1f2933", "f-ink on f-box: contrast 1.2 on a dark page"),
        ("#1f2933", "#8fb79c", "f-ink on f-box: contrast 1.8 on a light page"),
        ("#161b22", "#ffffff", "the card is not dark on a dark page"),
        (DARK, "@media print{", "no colours for dark pages"),
        ('class="f-ink"', 'class="f-ink" fill="#1f2933"', "the colour #1f2933 does not change"),
        ('class="f-ink"', "", "'a' has no colour, or no ground"),
        ('class="f-box"', 'class="f-bay"', "f-bay has no colour on a dark page"),
    ]:
        assert sound.count(old), old
        assert what in problems(sound.replace(old, new), {})[0], (what, problems(sound.replace(old, new), {}))
    known = {}
    problems(sound, known)
    assert any(one.startswith("f-box is") for one in problems(sound.replace("#173f27", "#173f28"), known)[0])


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if not arguments:
        sys.exit(__doc__)
    known, pairs, wrong = {}, set(), False
    for path in arguments:
        found, here = problems(Path(path).read_text(encoding="utf-8"), known)
        pairs |= here
        wrong = wrong or bool(found)
        for one in found:
            print(f"{path}: {one}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    print(f"{len(arguments)} pictures, {len(pairs)} pairs of text and ground: contrast at least {LEAST} on light and on dark pages")


if __name__ == "__main__":
    main(sys.argv[1:])
