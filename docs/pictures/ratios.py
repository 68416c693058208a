"""Ratios by size, from the outputs of `gemtool bench` in benches/results."""

import math
import re

from answers import ROOT
from card import WIDTH, headed
from palette import AMBER, BLUE, FAINT, GREEN, GREY, INK, LINE, RED, VIOLET, paint

UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}
LEFT, RIGHT, PANEL = 84, WIDTH - 210, 190
# A panel: the row, our side, the peers, and what stands above it.
PANELS = [
    ("flush", "write_back_range", ["pmem_persist", "clwb loop", "clflush loop"], "flush: a range whose every line is dirty"),
    ("upload", "Bo::upload", ["pmem_memcpy_persist", "floor", "store+clflushopt"], "upload: bytes that go to memory at once"),
    ("crossover", "non-temporal", ["through, cold", "through, warm"], "crossover: an upload by non-temporal stores, beside one through the cache"),
]
COLOURS = [colours[1] for colours in (BLUE, GREEN, AMBER, VIOLET, RED, GREY)]


def tables():
    """The output for each maker of processors: its name, and the lines."""
    for maker in ("AMD", "Intel"):
        yield maker, (ROOT / "benches" / "results" / f"{maker.lower()}.txt").read_text(encoding="utf-8").splitlines()


def size_of(case):
    """The size that a case begins with, in bytes, and what follows it."""
    found = re.match(r"(\d+) (bytes|KiB|MiB)(?:, (\w+))?$", case)
    return found and (int(found[1]) * UNITS[found[2]], found[3])


def ratios(lines, row, ours):
    """The ratios of a row: for each peer a list of sizes and ratios."""
    found, inside = {}, False
    for line in lines:
        if line and not line.startswith(" "):
            inside = line == row
        cells = re.split(r" {2,}", line.strip())
        if not inside or len(cells) < 6 or cells[1] != ours or not size_of(cells[0]):
            continue
        size, kind = size_of(cells[0])
        peer = cells[3] if kind is None else f"{cells[3]}, {kind}"
        found.setdefault(peer, []).append((size, float(cells[5])))
    return found


def name_of(size):
    """A size in bytes, as the labels show it."""
    for unit in ("MiB", "KiB"):
        if size >= UNITS[unit]:
            return f"{size // UNITS[unit]} {unit}"
    return f"{size}"


def panel(picture, y, lines, row, ours, peers, head):
    """One panel below `y`; returns where it ends."""
    found = {peer: points for peer, points in ratios(lines, row, ours).items() if peer in peers}
    picture.text(28, y + 20, head, 15, bold=True)
    top, bottom = y + 40, y + 40 + PANEL
    sizes = sorted({size for points in found.values() for size, _ in points})
    values = [value for points in found.values() for _, value in points]
    low, high = min(0.5, *values), max(2.0, *values)
    across = lambda size: LEFT + (math.log(size) - math.log(sizes[0])) / (math.log(sizes[-1]) - math.log(sizes[0])) * (RIGHT - LEFT)
    up = lambda value: bottom - (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) * (bottom - top)
    for value in (0.5, 0.7, 1, 2, 3, 5, 10, 20, 30):
        if low <= value <= high:
            width = 1.6 if value == 1 else 0.8
            picture.put(f'<line x1="{LEFT}" y1="{up(value):.1f}" x2="{RIGHT}" y2="{up(value):.1f}" {paint(None, INK if value == 1 else LINE)} stroke-width="{width}"/>')
            picture.text(LEFT - 10, up(value) + 4, f"{value:g}x", 12, colour=FAINT, anchor="end")
    for size in sizes:
        picture.text(across(size), bottom + 20, name_of(size), 12, colour=FAINT, anchor="middle")
    # The names, in the order of the lines' ends, with room for each.
    place = bottom + 16
    ends = sorted(found, key=lambda peer: found[peer][-1][1])
    for peer in ends:
        colour = COLOURS[peers.index(peer)]
        points = [(across(size), up(value)) for size, value in found[peer]]
        picture.put('<polyline points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + f'" {paint(None, colour)} stroke-width="2.2"/>')
        for a, b in points:
            picture.put(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" {paint(colour)}/>')
        place = min(place - 16, points[-1][1] + 4)
        picture.text(RIGHT + 14, place, peer, 12.5, bold=True, colour=colour)
    for peer in peers:
        if peer in found:
            said = ", ".join(f"{name_of(size)} {value:g}" for size, value in found[peer])
            picture.say(f"{head}, {ours} beside {peer}: {said}.")
    return bottom + 44


def pictures():
    """A picture for each maker's table."""
    for maker, lines in tables():
        caches = next(line.split("caches")[1].strip() for line in lines if line.lstrip().startswith("caches "))
        picture, y = headed(f"Ratios by size: {maker}", f"Three charts, from the table of {lines[0]}.",
                            f"{lines[0]}; {caches}. The run is benches/results/{maker.lower()}.txt. A ratio is the peer's time divided by the "
                            "library's, by the size of one operation. Above 1 the library takes less time.")
        for row, ours, peers, head in PANELS:
            y = panel(picture, y, lines, row, ours, peers, head)
        picture.height = y
        yield f"ratios-{maker.lower()}", picture
