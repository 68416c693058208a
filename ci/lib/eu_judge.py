"""Judges instructions by Intel's assembler, iga64: it has to disassemble each encoding to the text beside it, to assemble the text
to the encoding, and to compact the instructions that we compact, and no others.

    eu_judge.py PLATFORM LEAST COMPACTED FILE     PLATFORM is iga64's name

FILE has a line "ENCODING TEXT" for each instruction, and for its compacted form, if it has one, another line after it. If the text is
empty, only the texts of iga64 for both forms are compared. If it is a question mark, we do not decode the encoding, and iga64 must not.
Prints how many instructions were compared each way, how many iga64 refuses, and why, and the opcodes of which none was compared. Fails if
one differs, or if fewer than LEAST were compared, or fewer than COMPACTED were compacted.
"""

import collections
import os
import re
import struct
import subprocess
import sys
import tempfile

# Differences that are printed.
SHOWN = 10
# Lines that are assembled at once: iga64 gives up after three errors, and those that are left are assembled again.
CHUNK = 100
# Around the lines: targets of branches have to be in the program.
PADDING = ["nop"] * 12


# Bits of `call` and `calla` that the assembler leaves to chance: the region of a source that they do not have.
CALL = re.compile(r"\bcalla? ")
CHANCE = 0x1FF << 80
# The option of a compacted instruction.
COMPACTED = re.compile(r" \{Compacted\}|\bCompacted,|,Compacted\b")
# The text of an encoding that we do not decode.
REFUSED = "?"
# What iga64 decodes though the hardware lacks it: graphics 12.0 has no 64-bit integers.
LACKING = {"12p1": re.compile(r":u?q\b")}
# What iga64 prints for bits that mean nothing.
NO_MEANING = re.compile(r"\?\?|\billegal\b")
# A channel offset that is no multiple of 8.
HALF = re.compile(r"\|M(?:4|12|20|28)\)")
# A message that ends the thread, with its descriptor in a register.
END = re.compile(r"\ba0\.\d+ \{.*\bEOT\b")


def iga64(platform, *arguments):
    command = ["iga64", f"-p={platform}", *arguments]
    return subprocess.run(command, capture_output=True, encoding="latin-1", check=False)


def reason(message):
    """The reason of a refusal, without what differs from instruction to instruction."""
    return re.sub(r"\s*\(line \d+\)|IGALibrary\S*: ", "", message)


def size(encoding):
    """The bytes of the instruction that begins here."""
    return 8 if encoding[3] & 1 << 5 else 16


def disassemble(platform, encodings, folder):
    """The text of each encoding, all of which have one size, or None, and the reasons of refusals."""
    width = size(encodings[0])
    path = os.path.join(folder, "binary")
    texts, refused = [None] * len(encodings), {}
    start = 0
    while start < len(encodings):
        with open(path, "wb") as file:
            file.write(b"".join(encodings[start:]))
        result = iga64(platform, "-d", "-n", "-Xprint-pc", "--output-on-fail", path)
        for offset, message in re.findall(r"^byte offset (0x[0-9a-f]+): error: (.*)", result.stderr, re.M):
            refused.setdefault(start + int(offset, 16) // width, reason(message))
        # An immediate byte is printed as the character that it is, also if that ends a line.
        found = re.findall(r"^/\* \[([0-9A-F]+)\]  \*/ (.*?)(?=^/\* \[|\Z)", result.stdout, re.M | re.S)
        for offset, text in found:
            texts[start + int(offset, 16) // width] = text
        if result.stdout.endswith("\n"):
            break
        # It breaks off in the last one, without an error.
        start += int(found[-1][0], 16) // width if found else 0
        refused[start] = "the text breaks off"
        start += 1
    for at in refused:
        texts[at] = None
    return texts, collections.Counter(refused.values())


def split(binary):
    """The encodings of a program."""
    encodings = []
    while binary:
        encodings.append(binary[:size(binary)])
        binary = binary[size(binary):]
    return encodings


def assemble(platform, option, texts, folder):
    """The encoding of each text, or None, and the reasons of refusals."""
    encodings = [None] * len(texts)
    reasons = collections.Counter()
    source, binary = os.path.join(folder, "source"), os.path.join(folder, "assembled")
    for start in range(0, len(texts), CHUNK):
        numbers = list(range(start, min(start + CHUNK, len(texts))))
        while numbers:
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join(PADDING + [texts[number] for number in numbers] + PADDING) + "\n")
            result = iga64(platform, "-a", option, source, "-o", binary)
            if result.returncode == 0:
                with open(binary, "rb") as file:
                    words = split(file.read())[len(PADDING):]
                for number, word in zip(numbers, words):
                    encodings[number] = word
                break
            refused = {}
            for line, message in re.findall(r"^line (\d+)\.\d+: error: (.*)", result.stderr, re.M):
                refused.setdefault(int(line) - 1 - len(PADDING), reason(message))
            if not refused:
                sys.exit(f"iga64 -a: {result.stderr}")
            reasons.update(refused.values())
            numbers = [number for at, number in enumerate(numbers) if at not in refused]
    return encodings, reasons


# Types of floats: bytes, and the letter of struct.
FLOATS = {"hf": (2, "e"), "f": (4, "f"), "df": (8, "d")}


def digits(match):
    """A float by some of the digits that iga64 prints; it is decimal, or hexadecimal bits."""
    text, (size, code) = match[1], FLOATS[match[2]]
    if text.startswith("0x"):
        value = struct.unpack(f"<{code}", int(text, 16).to_bytes(size, "little"))[0]
    else:
        value = float(text)
    return f"{value:.3e}:{match[2]}"


# The truth tables of what the expression of a function consists of.
TABLES = {"s0": 0xAA, "s1": 0xCC, "s2": 0xF0, "zeros": 0x00, "ones": 0xFF}


def table(match):
    """The function of `bfn`, an expression of its sources, as its truth table."""
    # Operators bind as those of Python.
    return f"bfn.0x{eval(match[1], {}, TABLES) & 0xFF:02X} ("


def normal(text):
    """A text without what may differ: white space, the comment, UD as the type of a message's registers, and the forms of floats and of
    functions."""
    text = re.sub(r"//.*", "", text)
    text = " ".join(text.split())
    text = re.sub(r"\bbfn\.(\([()s0-2~&^|zeron]+\)) \(", table, text)
    text = re.sub(r"-?[sq]nan\(0x[0-9A-F]+\):", "nan:", text)
    text = re.sub(r"(?<= )(0x[0-9A-F]+|-?[0-9.]+(?:e[-+]?\d+)?):([hd]?f)\b", digits, text)
    text = re.sub(r" \((-\d+)\)", r" \1", text)
    return re.sub(r"(?<=\w):ud(?= )", "", text) if "send" in text else text


def differ(text, *encodings):
    """Whether two encodings of an instruction differ."""
    chance = CHANCE if CALL.search(text) else 0
    return len({int.from_bytes(encoding, "little") & ~chance for encoding in encodings}) > 1


def opcodes(platform):
    """The opcodes that iga64 knows."""
    lines = iga64(platform, "-Xlist-ops").stdout.splitlines()
    return {line.split()[0] for line in lines[1:] if line.strip()}


def hexadecimal(encoding):
    """The digits of an encoding, the last byte first."""
    return encoding[::-1].hex()


def compare(platform, option, rows, folder):
    """Compares rows in both directions: returns how many each way, the differences, and the texts of iga64."""
    differences = []
    texts, refused = disassemble(platform, [encoding for encoding, _ in rows], folder)
    for (encoding, ours), text in zip(rows, texts):
        if text is not None and ours and normal(text) != normal(ours):
            differences.append(f"{hexadecimal(encoding)}: ours {normal(ours)}\n  iga64 {normal(text)}")
    known = [row for row, text in zip(rows, texts) if text is not None and row[1]]
    assembled, refusals = assemble(platform, option, [ours for _, ours in known], folder)
    for (encoding, ours), theirs in zip(known, assembled):
        if theirs is not None and differ(ours, encoding, theirs):
            differences.append(f"{ours}: ours {hexadecimal(encoding)}\n  iga64 {hexadecimal(theirs)}")
    count = sum(encoding is not None for encoding in assembled)
    print(f"{platform}: {len(rows)} instructions of {size(rows[0][0])} bytes, {len(known)} disassembled, {count} assembled")
    for verb, counts in ("disassemble", refused), ("assemble", refusals):
        for message, number in counts.most_common():
            print(f"  iga64 refuses to {verb} {number}: {message}")
    return min(len(known), count), differences, texts


def one_source(text):
    """Whether an instruction has a destination and one source, by their types."""
    return len(re.findall(r":(?:u?[bwdqv]|[hdv]?f)\b", normal(text))) == 2


def compaction(platform, rows, short, folder):
    """Compares which rows are compacted; `short` has what ours become. Returns how many are, and the differences."""
    differences = []
    counts = collections.Counter()
    known = [(at, *row) for at, row in enumerate(rows) if row[1]]
    assembled, _ = assemble(platform, "-Xautocompact", [text for _, _, text in known], folder)
    for (at, encoding, text), theirs in zip(known, assembled):
        ours = short.get(at)
        if theirs is None:
            counts["refused"] += 1
        elif ours is None and size(theirs) == 16:
            counts["left alone"] += 1
        elif ours == theirs:
            counts["the same"] += 1
        elif ours is None and HALF.search(text):
            # There is no room for it.
            counts["without half of the channel offset by iga64"] += 1
        elif ours is None and one_source(text):
            # Its row of subregisters has a second source's, which is not zero: expanded, the instruction has other bits.
            counts["with bits of a second source by iga64"] += 1
        elif ours is None and END.search(text):
            # There is no room for the end of the thread beside a descriptor in a register.
            counts["without the end of the thread by iga64"] += 1
        elif text == "nop":
            # Mesa's compiler pads programs with it; iga64 does not know it.
            counts["nop"] += 1
        else:
            differences.append(f"{text}: ours {hexadecimal(ours or encoding)}\n  iga64 compacts {hexadecimal(theirs)}")
    print(f"  compacted: {', '.join(f'{count} {what}' for what, count in counts.most_common())}")
    return counts["the same"], differences


def taken(platform, words, folder):
    """The differences of words that we refuse and iga64 takes."""
    if not words:
        return []
    texts, _ = disassemble(platform, words, folder)
    lacking = LACKING.get(platform)
    known = [(word, normal(text)) for word, text in zip(words, texts) if text and not NO_MEANING.search(text)]
    known = [(word, text) for word, text in known if not (lacking and lacking.search(text))]
    print(f"  {len(words)} words that we refuse, {len(known)} of them not by iga64")
    return [f"{hexadecimal(word)}: we refuse\n  iga64 {text}" for word, text in known]


def main():
    platform, least, least_compacted, path = sys.argv[1:]
    rows, short, refused = [], {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            code, text = line.rstrip("\n").split(" ", 1)
            encoding = bytes.fromhex(code)[::-1]
            if text == REFUSED:
                refused.append(encoding)
            elif size(encoding) == 16:
                rows.append((encoding, text))
            else:
                short[len(rows) - 1] = (encoding, text)
    with tempfile.TemporaryDirectory() as folder:
        compared, differences, texts = compare(platform, "-Xforce-no-compact", rows, folder)
        compared_short, more, short_texts = compare(platform, "-Xno-autocompact", list(short.values()), folder)
        differences += more + taken(platform, refused, folder)
        for at, text in zip(short, short_texts):
            if None not in (text, texts[at]) and COMPACTED.sub("", normal(text)) != normal(texts[at]):
                differences.append(f"{normal(texts[at])}\n  iga64, compacted: {normal(text)}")
        compacted, more = compaction(platform, rows, {at: row[0] for at, row in short.items()}, folder)
        differences += more
    mnemonics = {word.split(".")[0] for text in texts if text for word in text.split()}
    missing = opcodes(platform) - mnemonics
    if missing:
        print(f"  not compared: {', '.join(sorted(missing))}")
    for difference in differences[:SHOWN]:
        print(f"  {difference}")
    if differences:
        sys.exit(f"{platform}: {len(differences)} differences")
    if compared < int(least):
        sys.exit(f"{platform}: {compared} instructions were compared, of at least {least}")
    if min(compacted, compared_short) < int(least_compacted):
        sys.exit(f"{platform}: {compacted} instructions were compacted, {compared_short} compared, of at least {least_compacted}")


main()
