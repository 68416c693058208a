"""Rust source without its comments and literals, so that a search finds code and nothing else."""

import functools
import re

# In this order: the first that matches at a place wins.
TOKENS = re.compile(
    r"""
      (?P<line>//[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>\b(?:b|c)?r(?P<hashes>\#*)".*?"(?P=hashes))
    | (?P<string>\b(?:b|c)?"(?:\\.|[^"\\])*"|"(?:\\.|[^"\\])*")
    | (?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\\n])')
    """,
    re.VERBOSE | re.DOTALL,
)


@functools.lru_cache(maxsize=None)
def code(text):
    """The text with every comment and literal blanked; lines keep their numbers."""
    out, at = [], 0
    while match := TOKENS.search(text, at):
        out.append(text[at : match.start()])
        end = _block_end(text, match.start()) if match.group("block") else match.end()
        out.append(re.sub(r"[^\n]", " ", text[match.start() : end]))
        at = end
    out.append(text[at:])
    return "".join(out)


def _block_end(text, start):
    """Where the block comment ends; Rust's nest."""
    depth, at = 0, start
    while at < len(text):
        if text.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif text.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if depth == 0:
                return at
        else:
            at += 1
    return len(text)


def line_of(text, offset):
    """The number of the line that the offset is on."""
    return text.count("\n", 0, offset) + 1
