"""Boxes, arrows and text as SVG, on a card with a title and a description."""

import html
import math

from palette import FAINT, INK, LINE, PALE, PAPER, VERDICTS, paint, style

WIDTH = 920


def letter(char):
    """The width of a letter of DejaVu Sans, in parts of its size."""
    if char in "iljI|.,:;'! ":
        return 0.33
    if char in "ftr()[]-":
        return 0.41
    if char in "mwMW%":
        return 0.94
    return 0.7 if char.isupper() else 0.61


def width_of(text, size, bold=False, mono=False):
    if mono:
        return 0.603 * size * len(text)
    return size * sum(map(letter, text)) * (1.1 if bold else 1.0)


def fold(text, width, size, bold=False, mono=False):
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size, bold, mono) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class Picture:
    """A card that is light on a light page and dark on a dark page."""

    def __init__(self, title, description):
        self.title, self.description = title, [description]
        self.parts, self.height = [], 0

    def put(self, part):
        self.parts.append(part)

    def box(self, x, y, width, height, colours=(PALE, LINE), radius=6, dashed=False, stroke=1.4):
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self.put(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" {paint(*colours)} '
                 f'stroke-width="{stroke:g}"{dash}/>')

    def text(self, x, y, words, size=14, bold=False, mono=False, colour=INK, anchor="start"):
        extra = ' font-weight="bold"' if bold else ""
        extra += ' font-family="\'DejaVu Sans Mono\', Menlo, Consolas, monospace"' if mono else ""
        extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.put(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" {paint(colour)}{extra}>{html.escape(words)}</text>')

    def block(self, x, y, width, words, size=14, leading=1.35, **style):
        """Text in lines; returns the base line after the last one."""
        kind = {key: style[key] for key in ("bold", "mono") if key in style}
        for line in fold(words, width, size, **kind):
            self.text(x, y, line, size, **style)
            y += size * leading
        return y

    def labelled(self, x, y, width, height, head, below=(), colours=(PALE, LINE), **box):
        """A box with a bold line in it, and plain lines under that."""
        self.box(x, y, width, height, colours, **box)
        base = y + height / 2 + 5.5 - 9 * len(below)
        self.text(x + width / 2, base, head, 15, bold=True, anchor="middle")
        for number, line in enumerate(below, 1):
            self.text(x + width / 2, base + 18 * number, line, 13, anchor="middle", colour=FAINT)

    def chip(self, x, y, verdict):
        """A verdict; (x, y) is where the base line of text beside it begins."""
        fill, edge = VERDICTS[verdict]
        self.box(x, y - 16, 84, 22, (fill, edge), radius=11)
        self.text(x + 42, y - 0.5, verdict, 13, bold=True, colour=edge, anchor="middle")

    def arrow(self, points, colour=INK, dashed=False, both=False, width=2):
        self.put('<polyline points="' + " ".join(f"{x:g},{y:g}" for x, y in points) +
                 f'" {paint(None, colour)} stroke-width="{width:g}"' + (' stroke-dasharray="6 4"' if dashed else "") + "/>")
        ends = [(points[-2], points[-1])] + ([(points[1], points[0])] if both else [])
        for (x0, y0), (x, y) in ends:
            angle = math.atan2(y - y0, x - x0)
            corners = [(x, y)] + [(x - 10 * math.cos(angle + turn), y - 10 * math.sin(angle + turn)) for turn in (-0.42, 0.42)]
            self.put('<polygon points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in corners) + f'" {paint(colour)}/>')

    def badge(self, x, y, words, colour=INK):
        """A number in a circle around (x, y)."""
        self.put(f'<circle cx="{x:g}" cy="{y:g}" r="11.7" {paint(colour)}/>')
        self.text(x, y + 4.7, words, 13, bold=True, colour=PAPER, anchor="middle")

    def rule(self, y, x=28, to=WIDTH - 28):
        self.put(f'<line x1="{x:g}" y1="{y:g}" x2="{to:g}" y2="{y:g}" {paint(None, LINE)} stroke-width="1"/>')

    def say(self, sentence):
        """Adds to the description for those who do not see the picture."""
        self.description.append(sentence)

    def svg(self):
        height = math.ceil(self.height)
        head = (f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title desc" '
                f'font-family="\'DejaVu Sans\', Verdana, Arial, sans-serif">\n')
        words = f'<title id="title">{html.escape(self.title)}</title>\n<desc id="desc">{html.escape(" ".join(self.description))}</desc>\n'
        card = f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="12" {paint(PAPER, LINE)}/>\n'
        return head + words + style() + card + "\n".join(self.parts) + "\n</svg>\n"


def headed(title, description, below):
    """A picture with its title, and a line below; and where the rest begins."""
    picture = Picture(title, description)
    picture.text(28, 44, title, 21, bold=True)
    y = picture.block(28, 70, WIDTH - 56, below, 14, colour=FAINT)
    return picture, y
