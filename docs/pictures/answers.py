"""What gemtool prints, as the pictures need it."""

import functools
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# The path of the binary; `draw` sets it.
BINARY = "gemtool"


@functools.cache
def gemtool(*arguments, text=None, may_be_refused=False):
    """The JSON of `gemtool ARGUMENTS --json`, also where an expectation does not hold (status 1). A refusal (2) ends the drawing, or is None."""
    done = subprocess.run([BINARY, *arguments, "--json"], cwd=ROOT, input=text, capture_output=True, text=True)
    if done.returncode == 2 and may_be_refused:
        return None
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"gemtool {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


@functools.cache
def platforms():
    return gemtool("platforms")["platforms"]


def title_of(name):
    return next(one["title"] for one in platforms() if one["name"] == name)


def caps_of(name):
    return set(next(one["caps"] for one in platforms() if one["name"] == name))


def same_class(name):
    """The platforms that do not differ from `name` in what decides coherency."""
    deciding = {"llc", "snoop", "discrete", "pat-at-create", "llc-bypass-mocs"}
    wanted = caps_of(name) & deciding
    return [one["name"] for one in platforms() if set(one["caps"]) & deciding == wanted]


def names_with(cap):
    return [one["name"] for one in platforms() if cap in one["caps"]]


def decide(platform, level, writer, reader, map_mode="wb", mocs=None, access="read", question="flush"):
    """The library's verdict and rule for one hand-over."""
    arguments = ["explain", "--platform", platform, "--level", level, "--writer", writer, "--reader", reader]
    arguments += ["--map", map_mode, "--access", access] + (["--mocs", mocs] if mocs else [])
    return next(one for one in gemtool(*arguments)["decisions"] if one["question"] == question)


def map_modes(platform):
    """Map mode -> None, or the errno of the refusal."""
    return {one["mode"]: None if one["available"] else one["errno"] for one in gemtool("info", "--device", f"sim:{platform}")["maps"]}


def pat_indices(platform, level):
    """The PAT indices that userspace may choose at creation, as far as they give this level."""
    if "pat-at-create" not in caps_of(platform):
        return []
    arguments = ["explain", "--platform", platform, "--who", "kernel", "--event", "acquire", "--object"]
    found, index = [], 0
    while (row := gemtool(*arguments, f"pat:{index}", may_be_refused=True)) is not None:
        found += [index] if row["level"] == level else []
        index += 1
    return found
