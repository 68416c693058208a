"""The five failures as timelines: the steps of a script, and what each agent would read after each of them."""

import sys

from answers import ROOT, gemtool
from card import WIDTH, fold, headed
from palette import AMBER, BLUE, FAINT, GREEN, LINE, PALE, RED, VERDICTS


class Run:
    """A script on a software device, stopped at any line to see what each agent reads there."""

    def __init__(self, script, device):
        self.path, self.device = f"examples/scripts/{script}.gemco", device
        self.lines = (ROOT / self.path).read_text().splitlines()
        self.report = gemtool("run", self.path, "--device", device)
        self.command = f"gemtool run {self.path} --device {device} --timeline"

    def find(self, statement, nth=0):
        """The line of the n-th statement that begins with these words."""
        found = [step["line"] for step in self.report["steps"] if step["statement"].startswith(statement)]
        if len(found) <= nth:
            sys.exit(f"{self.path}: no statement '{statement}'")
        return found[nth]

    def step(self, line):
        return next(step for step in self.report["steps"] if step["line"] == line)

    def probe(self, line, words):
        """What `words`, put after this line, reads: bytes in hexadecimal. Nothing after this line is run."""
        text = "\n".join([*self.lines[:line], words, ""])
        step = gemtool("run", "-", "--device", self.device, text=text)["steps"][-1]
        told = step["note"] if words.startswith("read") else step["seen"]
        return told.removeprefix("0x").split(" ")[0].rstrip(".")[:32]

    def written(self, line, bo):
        """What was stored to `bo` up to this line, oldest first; a new BO holds zeroes."""
        stores = [words.split("fill=0x")[1][:2] for words in self.lines[:line]
                  if f"write {bo} " in words and "fill=0x" in words and not words.startswith("#")]
        return ["00", *stores]


def shown(data):
    """Bytes as people read them."""
    pairs = {data[at:at + 2] for at in range(0, len(data), 2)}
    if len(pairs) == 1:
        return "0x" + pairs.pop()
    plain = bytes.fromhex(data).decode("latin-1")
    return f'"{plain[:7]}..."' if plain.isprintable() else f"0x{data[:8]}..."


def timeline(name, title, description, runs, viewers, rows, outcome, bytes_of):
    """Draws a story. A row is a heading, or (run, statement, n-th, BO, sentence, extra actions). Words instead of extra actions: the flush
    is a bad driver's."""
    first = runs[rows[1][0]]
    device = first.report["device"]
    below = f"{device['title']} ({device['platform']}). The coloured boxes hold what each agent would read at that moment, {bytes_of}."
    picture, y = headed(title, description, below)
    left, width = 372, 288 / len(viewers)
    y += 22
    picture.text(74, y, "step", 14, bold=True, colour=FAINT)
    for number, (words, more, _) in enumerate(viewers):
        middle = left + width * number + width / 2
        picture.text(middle, y, words, 14, bold=True, colour=FAINT, anchor="middle")
        picture.text(middle, y + 17, more, 12.5, colour=FAINT, anchor="middle")
    picture.text(676, y, "decision and rule", 14, bold=True, colour=FAINT)
    y += 32
    count, spine = 0, None
    for row in rows:
        if isinstance(row, str):
            if spine:
                picture.arrow([(46, spine), (46, y - 6)], LINE)
            picture.box(28, y, WIDTH - 56, 30, (PALE, LINE), 6, stroke=1)
            picture.text(42, y + 20, row, 14, bold=True)
            picture.say(f"{row}.")
            y, spine = y + 42, y + 42
            continue
        key, statement, nth, bo, sentence, extra = row
        run, count = runs[key], count + 1
        line = run.find(statement, nth)
        step, top, end = run.step(line), y, y
        end = picture.block(74, y + 18, left - 74 - 16, sentence, 14)
        for part in fold(step["statement"], left - 74 - 10, 12.5, mono=True):
            picture.text(74, end, part, 12.5, mono=True, colour=BLUE[1])
            end += 17
        written, seen = run.written(line, bo), []
        for number, (words, more, probe) in enumerate(viewers):
            data = run.probe(line, probe.format(bo=bo))
            value = data[:2] if len(set(zip(data[::2], data[1::2]))) == 1 else None
            kind, colours = ("newest", GREEN) if value == written[-1] else ("old", AMBER) if value in written else ("previous owner's", RED)
            x = left + width * number
            picture.box(x + 6, y + 2, width - 12, 48, colours, 7)
            picture.text(x + width / 2, y + 22, shown(data), 13.5, mono=True, bold=True, anchor="middle")
            picture.text(x + width / 2, y + 41, kind, 13, colour=colours[1], anchor="middle")
            seen.append(f"{words} {more}".strip() + f" reads {shown(data)} ({kind})")
        decided = step["decisions"]
        if isinstance(extra, str):
            # The script's flush stands for that of a driver that does not use the library; `extra` says what is wrong with it.
            actions = [("bad driver", one["verdict"], one["lines"], extra) for one in decided]
        else:
            actions = [("library", one["verdict"], one["lines"], one["rule"]) for one in decided]
        actions += [("kernel", "flush", one["lines_written"], one["rule"]) for one in step["kernel_flushes"]]
        actions += [] if isinstance(extra, str) else extra
        told, base = [], y + 18
        for by, verdict, lines, rule in actions:
            amount = f", {lines} line{'' if lines == 1 else 's'}" if lines else ""
            picture.text(676, base, f"{by}: {verdict}{amount}", 13.5, bold=True, colour=VERDICTS[verdict][1])
            picture.text(676, base + 18, rule, 13, mono=" " not in rule)
            base += 44
            told.append(f"{by}: {verdict}{amount} ({rule})")
        if not actions:
            picture.text(676, base, "nothing", 13.5, colour=FAINT)
        picture.say(f"{count}. {sentence} {'; '.join(seen + told)}.")
        bottom = max(end - 4, y + 56, base - 22 if actions else 0) + 14
        picture.badge(46, top + 14, str(count))
        picture.arrow([(46, top + 27), (46, bottom + 1)], LINE)
        y, spine = bottom, None
    y += 10
    lines = fold(outcome, WIDTH - 56 - 36, 14.5)
    picture.box(28, y, WIDTH - 56, 22 + 20 * len(lines), (PALE, LINE), 8)
    for number, words in enumerate(lines):
        picture.text(46, y + 26 + 20 * number, words, 14.5)
    picture.say(outcome)
    y += 22 + 20 * len(lines) + 26
    for run in runs.values():
        picture.text(28, y, run.command, 12.5, mono=True, colour=FAINT)
        y += 19
    picture.height = y + 6
    return name, picture


def at(where):
    """Where a viewer looks."""
    return where + " 0x5c"


def stale_read():
    runs = {"glk": Run("forgotten-flush", "sim:glk")}
    viewers = [("CPU", "WB mapping", "read {bo} 4096..4160 raw"), ("GPU", "level none", at("expect gpu-reads {bo} 4096..4160"))]
    return timeline(
        "stale-read", "Stale read: the newest bytes stay in the CPU's cache",
        "A timeline of stores that are not flushed before the GPU reads.", runs, viewers, [
            "The store is announced neither to the library nor to the kernel",
            ("glk", "submit a", 0, "a", "Memory and cache agree after an earlier flush.", []),
            ("glk", "write a 4096..8192", 0, "a", "The CPU stores through a mapping, past the library.", []),
            ("glk", "submit a", 3, "a", "The batch is submitted. The GPU reads memory.", []),
            "The write is announced to the kernel",
            ("glk", "domain a cpu write", 0, "a", "SET_DOMAIN announces a CPU write.", []),
            ("glk", "submit a", 4, "a", "The kernel flushes before the GPU uses the object.", []),
        ],
        "In step 3 the GPU reads old bytes: the newest ones are in dirty lines of the CPU's cache, and this GPU does not look there.",
        "at offset 4096")


def lost_write():
    runs = {"glk": Run("lost-write", "sim:glk")}
    viewers = [("CPU", "WB mapping", "read {bo} 0..64 raw"), ("memory", "the GPU reads it", at("expect gpu-reads {bo} 0..64"))]
    return timeline(
        "lost-write", "Lost write: a dirty line is written back over the GPU's bytes",
        "A timeline of a GPU write that an older dirty line of the CPU overwrites.", runs, viewers, [
            "A bad driver: the dirty line is not flushed before the GPU writes",
            ("glk", "write a", 0, "a",
             "The CPU stores one line, and it is dirty in the cache. At the first touch the kernel flushes the zeroes of the new pages.", []),
            ("glk", "gpu-write a", 0, "a", "The driver asks the library nothing. The GPU writes the same line in memory.", []),
            ("glk", "flush a", 0, "a", "The dirty line is written back: here by the driver's flush, elsewhere by an eviction.",
             "too late: the GPU has written"),
            "With the library: the dirty line is flushed before the GPU writes",
            ("glk", "write b", 0, "b", "The CPU stores one line. It is dirty in the cache.", []),
            ("glk", "submit b access=write", 0, "b", "The submission announces the GPU's write.", []),
            ("glk", "gpu-write b", 0, "b", "The GPU writes the line in memory.", []),
            ("glk", "flush b", 0, "b", "No dirty line is left that could be written back.", []),
            ("glk", "read b", 0, "b", "A read through a guard invalidates first: the CPU may hold a stale copy.", []),
        ],
        "In step 3 the GPU's bytes are gone: neither memory nor a cache holds them. In step 7 they are safe.",
        "in line 0")


def leaked_page():
    acquire = gemtool("explain", "--platform", "jsl", "--kernel", "6.1.0", "--who", "kernel", "--event", "acquire")
    old, new = Run("llc-bypass", "sim:jsl,kernel=6.1.0"), Run("llc-bypass", "sim:jsl")
    viewers = [("GPU", "through the LLC", at("expect gpu-reads {bo} 0..64")),
               ("GPU", "MOCS 16 or 17", at("expect gpu-reads {bo} 0..64") + " mocs=bypass-llc")]
    if acquire["actions"]:
        sys.exit("explain: kernel 6.1.0 flushes the zeroes of jsl, and there is no leak to draw")
    skipped = [("kernel", "none", 0, acquire["rule"])]
    return timeline(
        "leaked-page", "Leaked page: the GPU reads around the zeroes",
        "A timeline of a new object whose memory still holds another process's bytes.", {"old": old, "new": new}, viewers, [
            "Kernel 6.1.0: the zeroes stay in the cache",
            ("old", "submit b mocs=page-table", 0, "b", "The kernel acquires pages for a new object, and zeroes them through the cache.", skipped),
            ("old", "submit b mocs=bypass-llc", 0, "b", "A driver that uses the library flushes the zeroes. A hostile process does not.", []),
            "Kernel 6.12: the kernel flushes the zeroes",
            ("new", "submit b mocs=page-table", 0, "b", "The same call. The kernel flushes the zeroes when it acquires the pages.", []),
        ],
        "In step 1 memory holds the previous owner's bytes. Any process may put MOCS 16 into a batch and read them.",
        "at the start of the object")


def stale_scanout():
    runs = {"tgl": Run("scanout", "sim:tgl")}
    viewers = [("CPU", "WB mapping", "read {bo} 0..64 raw"), ("GPU", "level none", at("expect gpu-reads {bo} 0..64")),
               ("display", "memory", at("expect display-reads {bo} 0..64"))]
    return timeline(
        "stale-scanout", "Stale scanout: the display looks up no cache",
        "A timeline of stores to a buffer on screen.", runs, viewers, [
            "Before the buffer is shown",
            ("tgl", "write a all", 0, "a", "The CPU draws a frame. At the first touch the kernel flushes the zeroes of the new pages.", []),
            ("tgl", "scanout a", 0, "a", "The buffer is prepared for the display.", []),
            "While it is on screen",
            ("tgl", "write a 0..256", 0, "a", "The CPU draws into the buffer that is shown.", []),
            ("tgl", "scanout a", 1, "a", "The library flushes the four lines that were drawn.", []),
        ],
        "From step 3 to step 4 the screen shows old pixels, although CPU and GPU share an LLC and agree with each other.",
        "in line 0")


def needless_flush():
    runs = {"glk": Run("needless-flush", "sim:glk")}
    viewers = [("CPU", "WB mapping", "read {bo} 0..64 raw"), ("GPU", "level llc", at("expect gpu-reads {bo} 0..64"))]
    moved = runs["glk"].step(runs["glk"].find("flush a"))["decisions"][0]
    return timeline(
        "needless-flush", "Flush for nothing: no byte changes, every line moves",
        "A timeline of a flush of a snooped object.", runs, viewers, [
            "The library's own decisions",
            ("glk", "write a all", 0, "a", "The CPU writes the whole buffer. At the first touch the kernel flushes the zeroes of the new pages.", []),
            ("glk", "submit a", 0, "a", "The GPU snoops the CPU's caches. Nothing has to be flushed.", []),
            "A bad driver: it flushes on every platform without an LLC",
            ("glk", "flush a", 0, "a", "The driver flushes: every line is written back and dropped.", "no rule requires it"),
            ("glk", "submit a", 1, "a", "The GPU reads what it would have read before.", []),
        ],
        f"Step 3 moves {moved['lines']} lines ({moved['bytes'] // 1024} KiB) to memory, and the CPU's next access to each of them misses its cache. "
        "Every agent reads the same bytes as before.",
        "in line 0")


STORIES = [stale_read, lost_write, leaked_page, stale_scanout, needless_flush]
