"""The colours of the pictures: for each name, one on a light page and one on a dark page.

A picture names colours by class and holds them in its style sheet, so the viewer chooses. gemtool's pictures have the same colours, from
crates/gemtool/src/render/svg.rs; ci/lib/contrast.py compares them, and checks that text is legible.
"""

SHADES = {
    "paper": ("#ffffff", "#161b22"),
    "pale": ("#f3f5f8", "#21262d"),
    "ink": ("#1f2933", "#e6edf3"),
    "faint": ("#52606d", "#a9b4c0"),
    "line": ("#c3cbd4", "#48515b"),
    "red": ("#a3211a", "#ff9d94"),
    "red-fill": ("#fbd3cf", "#5a1e1b"),
    "amber": ("#7d4e05", "#e9b949"),
    "amber-fill": ("#fdeab0", "#4a3706"),
    "green": ("#20633b", "#6fd391"),
    "green-fill": ("#d5f0dd", "#173f27"),
    "blue": ("#24609f", "#7db6f5"),
    "blue-fill": ("#dce9fb", "#17365c"),
    "violet": ("#6b3fa0", "#c3a4f0"),
    "violet-fill": ("#e9def8", "#3a2660"),
    "grey-fill": ("#e8ebef", "#343b44"),
}
PAPER, PALE, INK, FAINT, LINE = "paper", "pale", "ink", "faint", "line"
# What a box is filled with, and its border and letters.
RED, AMBER, GREEN, BLUE, VIOLET = (("red-fill", "red"), ("amber-fill", "amber"), ("green-fill", "green"), ("blue-fill", "blue"),
                                   ("violet-fill", "violet"))
GREY = ("grey-fill", "faint")
VERDICTS = {"none": GREEN, "flush": AMBER, "invalidate": VIOLET, "drain": BLUE, "refused": GREY}


def style():
    """The style sheet: the classes f-NAME fill, the classes s-NAME draw lines."""
    rules = ["".join(f".f-{name}{{fill:{shades[dark]}}}.s-{name}{{stroke:{shades[dark]}}}\n" for name, shades in SHADES.items())
             for dark in (0, 1)]
    return f"<style>\n{rules[0]}@media (prefers-color-scheme: dark){{\n{rules[1]}}}\n</style>\n"


def paint(fill=None, stroke=None):
    """The attributes of an element that is filled and bordered with these colours."""
    classes = [f"f-{fill}"] * bool(fill) + [f"s-{stroke}"] * bool(stroke)
    return f'class="{" ".join(classes)}"' + ("" if fill else ' fill="none"')
