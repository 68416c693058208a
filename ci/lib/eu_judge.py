"""Judges instructions by Intel's assembler, iga64: it has to disassemble each encoding to the text beside it, and to assemble the text
to the encoding.

    eu_judge.py PLATFORM LEAST FILE     FILE has a line "ENCODING TEXT" for each instruction, PLATFORM is iga64's name

Prints how many instructions were compared each way, how many iga64 refuses, and why, and the opcodes of which none was compared. Fails if
one differs, or if fewer than LEAST were compared.
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


def iga64(platform, *arguments):
    command = ["iga64", f"-p={platform}", *arguments]
    return subprocess.run(command, capture_output=True, encoding="latin-1", check=False)


def reason(message):
    """The reason of a refusal, without what differs from instruction to instruction."""
    return re.sub(r"\s*\(line \d+\)|IGALibrary\S*: ", "", message)


def disassemble(platform, encodings, folder):
    """The text of each encoding, or None, and the reasons of refusals."""
    path = os.path.join(folder, "binary")
    with open(path, "wb") as file:
        file.write(b"".join(encodings))
    result = iga64(platform, "-d", "-n", "-Xprint-pc", "--output-on-fail", path)
    refused = {}
    for offset, message in re.findall(r"^byte offset (0x[0-9a-f]+): error: (.*)", result.stderr, re.M):
        refused.setdefault(int(offset, 16) // 16, reason(message))
    texts = [None] * len(encodings)
    for offset, text in re.findall(r"^/\* \[([0-9A-F]+)\]  \*/ (.*)", result.stdout, re.M):
        if int(offset, 16) // 16 not in refused:
            texts[int(offset, 16) // 16] = text
    return texts, collections.Counter(refused.values())


def assemble(platform, texts, folder):
    """The encoding of each text, or None, and the reasons of refusals."""
    encodings = [None] * len(texts)
    reasons = collections.Counter()
    source, binary = os.path.join(folder, "source"), os.path.join(folder, "assembled")
    for start in range(0, len(texts), CHUNK):
        numbers = list(range(start, min(start + CHUNK, len(texts))))
        while numbers:
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join(PADDING + [texts[number] for number in numbers] + PADDING) + "\n")
            result = iga64(platform, "-a", "-Xforce-no-compact", source, "-o", binary)
            if result.returncode == 0:
                with open(binary, "rb") as file:
                    words = file.read()[16 * len(PADDING):]
                for at, number in enumerate(numbers):
                    encodings[number] = words[16 * at:16 * at + 16]
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


def normal(text):
    """A text without what may differ: white space, the comment, UD as the type of a message's registers, and the form of floats."""
    text = re.sub(r"//.*", "", text)
    text = " ".join(text.split())
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


def main():
    platform, least, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(" ", 1) for line in file]
    ours = [text for _, text in rows]
    encodings = [bytes.fromhex(digits)[::-1] for digits, _ in rows]
    differences = []
    with tempfile.TemporaryDirectory() as folder:
        texts, refused = disassemble(platform, encodings, folder)
        for at, text in enumerate(texts):
            if text is not None and normal(text) != normal(ours[at]):
                differences.append(f"{rows[at][0]}: ours {normal(ours[at])}\n  iga64 {normal(text)}")
        known = [at for at, text in enumerate(texts) if text is not None]
        assembled, refusals = assemble(platform, [ours[at] for at in known], folder)
        for at, encoding in zip(known, assembled):
            if encoding is not None and differ(ours[at], encoding, encodings[at]):
                differences.append(f"{ours[at]}: ours {rows[at][0]}\n  iga64 {encoding[::-1].hex()}")
    compared = len(known), sum(encoding is not None for encoding in assembled)
    print(f"{platform}: {len(rows)} instructions, {compared[0]} disassembled, {compared[1]} assembled")
    mnemonics = {word.split(".")[0] for at in known for word in ours[at].split()}
    missing = opcodes(platform) - mnemonics
    if missing:
        print(f"  not compared: {', '.join(sorted(missing))}")
    for verb, counts in ("disassemble", refused), ("assemble", refusals):
        for message, count in counts.most_common():
            print(f"  iga64 refuses to {verb} {count}: {message}")
    for difference in differences[:SHOWN]:
        print(f"  {difference}")
    if differences:
        sys.exit(f"{platform}: {len(differences)} differences")
    if min(compared) < int(least):
        sys.exit(f"{platform}: {min(compared)} instructions were compared, of at least {least}")


main()
