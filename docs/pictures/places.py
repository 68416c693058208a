"""The memory of each kind of platform, and one question asked of all of them."""

from answers import caps_of, decide, map_modes, names_with, pat_indices, same_class, title_of
from card import headed
from palette import AMBER, BLUE, FAINT, GREEN, LINE, PAPER, RED, VERDICTS, paint


def overview():
    picture, y = headed(
        "Is a flush needed between this write and that read?",
        "The CPU writes into its caches. Arrows point from the bytes to their reader: the GPU and the display read from a cache or from memory. A table gives the library's answers.",
        "The CPU stores through a WB mapping. Platform, level and path of the read decide the answer.")
    y += 14
    picture.labelled(40, y, 230, 56, "CPU", (), BLUE)
    picture.labelled(40, y + 108, 230, 60, "CPU caches", ["newest bytes, dirty"], GREEN)
    picture.labelled(345, y, 230, 56, "GPU", (), BLUE)
    picture.labelled(650, y, 230, 56, "Display", (), BLUE)
    picture.labelled(40, y + 226, 840, 60, "Memory", ["old bytes, until the dirty lines are written back"], AMBER)
    picture.arrow([(155, y + 56), (155, y + 108)], width=2.4)
    picture.text(168, y + 87, "this write", 14, bold=True)
    picture.arrow([(155, y + 168), (155, y + 226)], FAINT, dashed=True)
    picture.text(168, y + 202, "flush?", 14, bold=True, colour=AMBER[1])
    picture.arrow([(270, y + 138), (400, y + 138), (400, y + 56)], GREEN[1], width=2.4)
    picture.text(335, y + 128, "from a cache", 13, colour=GREEN[1], anchor="middle")
    picture.arrow([(500, y + 226), (500, y + 56)], AMBER[1], width=2.4)
    picture.text(513, y + 128, "from memory", 13, colour=AMBER[1])
    picture.text(450, y + 87, "that read", 14, bold=True, anchor="middle")
    picture.arrow([(765, y + 226), (765, y + 56)], AMBER[1], width=2.4)
    picture.text(778, y + 128, "from memory", 13, colour=AMBER[1])
    y += 328
    picture.text(28, y, "platform and level", 14, bold=True, colour=FAINT)
    picture.text(300, y, "that read", 14, bold=True, colour=FAINT)
    picture.text(540, y, "flush?", 14, bold=True, colour=FAINT)
    picture.text(640, y, "rule", 14, bold=True, colour=FAINT)
    y += 14
    for platform, level, words, reader, mocs in [
        ("tgl", "llc", "GPU", "gpu", None),
        ("jsl", "llc", "GPU, MOCS 16 or 17", "gpu", "bypass-llc"),
        ("glk", "none", "GPU", "gpu", None),
        ("glk", "llc", "GPU", "gpu", None),
        ("tgl", "none", "display", "display", None),
    ]:
        decision = decide(platform, level, "cpu", reader, mocs=mocs)
        picture.rule(y)
        y += 27
        picture.text(28, y, f"{title_of(platform)}, level {level}", 14)
        picture.text(300, y, words, 14)
        picture.chip(540, y, decision["verdict"])
        picture.text(640, y, decision["rule"], 13.5, mono=True)
        picture.say(f"{title_of(platform)}, level {level}, read by {words}: {decision['verdict']} ({decision['rule']}).")
        y += 11
    picture.height = y + 14
    return "overview", picture


def table(picture, y, head, rows):
    """Numbered paths, each with its verdict and rule; returns where the next thing begins."""
    picture.text(28, y, head, 15, bold=True)
    y += 30
    for number, words, decision in rows:
        if number:
            picture.badge(39, y - 5, str(number), (RED if "MOCS" in words else BLUE)[1])
        picture.text(62, y, words, 14)
        picture.chip(590, y, decision["verdict"])
        picture.text(694, y, decision["rule"], 13.5, mono=True)
        picture.say(f"{words}: {decision['verdict']} ({decision['rule']}).")
        y += 31
    return y + 12


def cpu_rows(platform, level, modes):
    """What stores through each map mode need before the GPU reads; a mode that the device refuses has no row."""
    refused = map_modes(platform)
    words = {
        "wc": "WC mapping: around the caches, by write-combining buffers",
        "uc": "UC mapping: around the caches, in program order",
        "gtt": "GTT mapping: through the aperture",
        "wb": "WB mapping: through the CPU's caches",
        "fixed": "FIXED mapping: the kernel chooses",
    }
    return [(number, words[mode], decide(platform, level, "cpu", "gpu", mode)) for number, mode in modes if not refused[mode]]


def class_line(platform):
    others = " ".join(one for one in same_class(platform) if one != platform)
    return f"Drawn for {platform}, {title_of(platform)}." + (f" Same class: {others}." if others else "")


def cpu_block(picture, y, memory_y):
    """The cores, their buffers and caches; paths 1 and 2."""
    picture.labelled(40, y, 290, 66, "CPU cores", ["stores, loads"], BLUE)
    picture.labelled(130, y + 120, 200, 50, "CPU caches", ["write-back"])
    picture.arrow([(230, y + 66), (230, y + 120)], both=True)
    picture.badge(230, y + 93, "1", BLUE[1])
    picture.arrow([(75, y + 66), (75, memory_y)], both=True)
    picture.badge(75, y + 145, "2", BLUE[1])


def integrated(name, platform, heading, description):
    """A CPU and a GPU on one chip: with the LLC between them, or with caches of the CPU's own."""
    llc = "llc" in caps_of(platform)
    picture, y = headed(heading, description, class_line(platform))
    y += 8
    memory = y + 316
    cpu_block(picture, y, memory)
    picture.labelled(410, y, 230, 66, "GPU engines", ["own caches, per batch"], BLUE)
    picture.labelled(720, y, 160, 66, "Display", ["reads only"], BLUE)
    picture.labelled(40, memory, 840, 52, "System memory")

    numbers = 3
    if not map_modes(platform)["gtt"]:
        picture.arrow([(330, y + 33), (410, y + 33)], both=True)
        picture.badge(370, y + 33, "3", BLUE[1])
        picture.text(370, y + 60, "aperture", 13, anchor="middle", colour=FAINT)
        numbers = 4
    levels = [(level, decide(platform, level, "cpu", "gpu")) for level in ("llc", "none")]
    if llc:
        picture.labelled(130, y + 216, 445, 52, "LLC", ["shared by CPU and GPU"], GREEN)
        picture.arrow([(230, y + 170), (230, y + 216)], both=True)
        picture.arrow([(350, y + 268), (350, memory)], both=True)
        picture.text(362, y + 297, "fills and write-backs", 13, colour=FAINT)
    else:
        picture.arrow([(230, y + 170), (230, memory)], both=True)
        picture.text(242, y + 250, "fills and write-backs", 13, colour=FAINT)

    rows, x = [], 470
    for level, decision in levels:
        agrees = decision["verdict"] == "none"
        if agrees and llc:
            picture.arrow([(x, y + 66), (x, y + 216)], both=True)
        elif agrees:
            picture.arrow([(x, y + 66), (x, y + 145), (330, y + 145)], both=True)
            picture.text(400, y + 136, "snoops", 13, anchor="middle", colour=FAINT)
        else:
            picture.arrow([(x, y + 66), (x, memory)], both=True)
        picture.badge(x, y + 110, str(numbers), BLUE[1])
        indices = " or ".join(map(str, pat_indices(platform, level)))
        rows.append((numbers, f"the GPU at level {level}" + (f", PAT index {indices}" if indices else ""), decision))
        numbers, x = numbers + 1, x + 60
    if llc:
        around = names_with("llc-bypass-mocs")
        decision = decide(around[0], "llc", "cpu", "gpu", mocs="bypass-llc")
        picture.arrow([(610, memory), (610, y + 66)], RED[1], dashed=True)
        picture.badge(610, y + 242, "6", RED[1])
        rows.append((6, f"the GPU through MOCS 16 or 17, {' and '.join(around)} only", decision))
        numbers = 7
    picture.arrow([(800, memory), (800, y + 66)])
    picture.badge(800, y + 190, str(numbers), BLUE[1])
    rows.append((numbers, "the display", decide(platform, "none", "cpu", "display")))

    y = table(picture, memory + 90, "The CPU stores through this path, level none. Before the GPU reads, what is needed?",
              cpu_rows(platform, "none", [(2, "wc"), (2, "uc"), (3, "gtt")]))
    y = table(picture, y + 6, "The CPU stores through path 1 (WB). Before this agent reads, what is needed?", rows)
    picture.height = y
    return name, picture


def discrete(name, platform, heading, description):
    """A card with memory of its own, and the host's memory behind PCIe."""
    picture, y = headed(heading, description, class_line(platform))
    y += 20
    memory = y + 250
    picture.labelled(40, y, 290, 66, "CPU cores", ["stores, loads"], BLUE)
    picture.labelled(40, y + 120, 290, 50, "CPU caches", ["write-back"])
    picture.arrow([(150, y + 66), (150, y + 120)], both=True)
    picture.badge(150, y + 93, "1", BLUE[1])
    picture.arrow([(150, y + 170), (150, memory)], both=True)
    picture.text(162, y + 216, "fills and write-backs", 13, colour=FAINT)
    picture.labelled(40, memory, 290, 52, "System memory")
    picture.box(450, y - 24, 442, 350, (PAPER, LINE), 10, dashed=True)
    picture.text(466, y - 5, "the card", 13, colour=FAINT)
    picture.put(f'<line x1="390" y1="{y - 24:g}" x2="390" y2="{y + 326:g}" {paint(None, LINE)} stroke-width="7"/>')
    picture.text(390, y + 345, "PCIe", 13, bold=True, anchor="middle", colour=FAINT)
    picture.labelled(500, y + 10, 210, 66, "GPU engines", ["own caches, per batch"], BLUE)
    picture.labelled(740, y + 10, 130, 66, "Display", ["reads only"], BLUE)
    picture.labelled(500, memory, 370, 52, "Device memory", ["mapped write-combining"])
    picture.arrow([(330, y + 14), (472, y + 14), (472, memory + 26), (500, memory + 26)], both=True)
    picture.badge(430, y + 14, "2", BLUE[1])
    picture.arrow([(560, y + 76), (560, y + 145), (330, y + 145)], both=True)
    picture.text(421, y + 136, "snoops", 13, anchor="middle", colour=FAINT)
    picture.badge(560, y + 112, "3", BLUE[1])
    picture.arrow([(640, y + 76), (640, memory)], both=True)
    picture.badge(640, y + 166, "4", BLUE[1])
    picture.arrow([(805, memory), (805, y + 76)])
    picture.badge(805, y + 166, "5", BLUE[1])

    def fixed(level, reader):
        return decide(platform, level, "cpu", reader, "fixed")

    y = table(picture, memory + 130, "The CPU stores through a FIXED mapping. Before this agent reads, what is needed?", [
        (3, "path 1, system memory; the GPU reads over PCIe", fixed("llc", "gpu")),
        (4, "path 2, device memory; the GPU reads", fixed("none", "gpu")),
        (5, "path 2, device memory; the display reads", fixed("none", "display")),
        (None, "path 1, system memory; the display reads", fixed("llc", "display")),
    ])
    picture.height = y
    return name, picture


def decisions():
    picture, y = headed(
        "One store, one question, many answers",
        "A grid: each row is a platform and a cache level, each column the next reader.",
        "The CPU stores through a WB mapping (FIXED on a discrete device). Is a flush needed before the next read?")
    columns = [("GPU", "page-table", "gpu", "page-table"), ("GPU", "bypass-llc", "gpu", "bypass-llc"), ("display", "", "display", None)]
    rows = [(platform, level) for platform in ("tgl", "jsl", "glk", "mtl", "dg2") for level in ("none", "llc")]
    left, width, tall = 246, 214, 52
    y += 26
    for number, (agent, mocs, _, _) in enumerate(columns):
        middle = left + width * number + width / 2
        picture.text(middle, y, agent, 15, bold=True, anchor="middle")
        picture.text(middle, y + 19, mocs, 13, mono=True, anchor="middle", colour=FAINT)
    picture.text(28, y, "platform", 15, bold=True)
    picture.text(left - 12, y, "level", 15, bold=True, anchor="end")
    y += 34
    for platform, level in rows:
        mode = "fixed" if "discrete" in caps_of(platform) else "wb"
        if level == "none":
            picture.rule(y - 1)
            picture.text(28, y + 31, title_of(platform), 15, bold=True)
            picture.text(28, y + 51, platform, 13, mono=True, colour=FAINT)
        picture.text(left - 12, y + 31, level, 13.5, mono=True, anchor="end")
        for number, (agent, words, reader, mocs) in enumerate(columns):
            decision = decide(platform, level, "cpu", reader, mode, mocs)
            fill, edge = VERDICTS[decision["verdict"]]
            x = left + width * number
            picture.box(x + 4, y + 5, width - 8, tall - 8, (fill, edge), 7, stroke=1)
            picture.text(x + width / 2, y + 24, decision["verdict"], 14, bold=True, colour=edge, anchor="middle")
            picture.text(x + width / 2, y + 41, decision["rule"], 12.5, mono=True, anchor="middle")
            picture.say(f"{platform}, level {level}, {agent} {words}: {decision['verdict']} ({decision['rule']}).")
        y += tall
    picture.rule(y + 3)
    picture.text(28, y + 28, "none: nothing to do.  flush: write dirty lines back.  drain: a fence only.  refused: there is no such access.",
                 13, colour=FAINT)
    picture.height = y + 48
    return "decisions", picture
