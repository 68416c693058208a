"""Prepares shaders for ci/lib/shaders.sh, in the folder that is given: their modules, the first contents of their surfaces, and
in the file `cases` a line for each dispatch: its name, and the arguments of `gemtool dispatch`. `endless.spv` is one that never ends.

The shaders are those of crates/shader/vectors; its README describes the directives that say how each one is dispatched."""

import pathlib
import random
import re
import struct
import subprocess
import sys

SHADERS = pathlib.Path("crates/shader/vectors")
# Branches and loops; numbers of 8, 16 and 64 bits, half floats and doubles; atomic operations; pixels that are discarded, and
# differences within quads.
CASES = """compute/loop_break_and_continue_nested.comp compute/switch_in_loop.comp compute/int8_arithmetic.comp compute/int16_storage.comp
    compute/int64_loop.comp compute/float16_arithmetic.comp compute/double_in_control_flow.comp compute/atomic_results.comp
    fragment/derivative_behind_discard_of_quads.frag fragment/discard_in_nested_loops.frag""".split()
# A change in the shader of a case, by which it leaves other bytes.
CHANGES = {"compute/switch_in_loop.comp": ("sum += 1u", "sum += 2u")}
# Each lane waits for a number that its element does not get.
ENDLESS = """#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Memory { uint m[]; };

void main() {
    while (m[gl_GlobalInvocationID.x] != 0x12345678u) {
    }
    m[gl_GlobalInvocationID.x] = 0u;
}
"""
PIXEL_BYTES = 16
DIRECTIVE = re.compile(r"^// ([a-z]+) ?([^:]*): *(.*)$")


def quarters(limit):
    """A multiple of a quarter."""
    return lambda numbers: numbers.randrange(-limit, limit + 1) / 4


# The format of an element, and its value.
PATTERNS = {
    "zero": ("<I", lambda _: 0),
    "small": ("<I", lambda numbers: numbers.randrange(32)),
    "signed": ("<i", lambda numbers: numbers.randrange(-8, 40)),
    "ints": ("<i", lambda numbers: numbers.randrange(-(1 << 31), 1 << 31) >> numbers.randrange(32)),
    "floats": ("<f", quarters(2047)),
    "quarters": ("<f", quarters(63)),
    "halves": ("<e", quarters(127)),
    "doubles": ("<d", quarters((1 << 20) - 1)),
    "random": ("<I", lambda numbers: numbers.randrange(1 << 32)),
}


def content(pattern, size, name):
    """The bytes of a pattern; the name of their place fixes them."""
    numbers = random.Random(name)
    if pattern == "ramp":
        words = struct.pack(f"<{size // 4}f", *(place // 4 * (1 + place % 4) for place in range(size // 4)))
    elif pattern in PATTERNS:
        kind, number = PATTERNS[pattern]
        count = -(-size // struct.calcsize(kind))
        words = b"".join(struct.pack(kind, number(numbers)) for _ in range(count))
    else:
        words = b"".join(struct.pack("<I", int(word, 0)) for word in pattern.split()).ljust(size, b"\0")
    return words[:size]


def arguments(folder, name, text):
    """The arguments by which a shader is dispatched."""
    found, surfaces, pixels = [], [], 0
    for line in text.splitlines()[2:]:
        match = DIRECTIVE.match(line)
        if not match:
            break
        kind, place, rest = match.groups()
        if kind == "dispatch":
            found.append("--groups " + ",".join(rest.split()))
        elif kind == "pixels":
            width, height = rest.split()
            pixels = int(width) * int(height)
            found.append(f"--extent {width}x{height}")
        elif kind in ("surface", "uniform"):
            size, pattern = rest.split(" ", 1)
            group, binding = place.split()
            surfaces.append((binding if group == "0" else f"{group}.{binding}", int(size, 0), pattern))
        elif kind == "input":
            surfaces.append((f"in{place}", pixels * PIXEL_BYTES, rest.split(" ", 1)[1]))
        elif kind == "output":
            surfaces.append((f"out{place}", pixels * PIXEL_BYTES, "small"))
        elif kind == "push":
            found.append("--push " + ",".join(rest.split()))
        elif kind == "spec":
            found.append(f"--spec {place}={rest}")
    for binding, size, pattern in surfaces:
        file = folder / f"{name}.{binding}"
        file.write_bytes(content(pattern.strip(), size, f"{name} {binding}"))
        found.append(f"--surface {binding}={size},file={file} --print {binding}={size}")
    return " ".join(found)


def module(folder, name, stage, text):
    """Compiles a shader; returns the path of its module."""
    source, compiled = folder / f"{name}.{stage}", folder / f"{name}.spv"
    source.write_text(text, encoding="utf-8")
    command = ["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(compiled), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: {done.stdout}{done.stderr}")
    return compiled


def main():
    """Writes the files and the list of cases."""
    folder = pathlib.Path(sys.argv[1])
    lines = []
    for case in CASES:
        text = (SHADERS / case).read_text(encoding="utf-8")
        name, stage = case.split("/")[1].split(".")
        # A changed shader gets the same bytes.
        given = arguments(folder, name, text)
        lines.append(f"{name} {module(folder, name, stage, text)} {given}")
        if case in CHANGES:
            old, new = CHANGES[case]
            changed = text.replace(old, new)
            if changed == text:
                sys.exit(f"{case}: '{old}' is not in it")
            lines.append(f"changed-{name} {module(folder, f'changed-{name}', stage, changed)} {given}")
    (folder / "cases").write_text("\n".join(lines) + "\n", encoding="utf-8")
    module(folder, "endless", "comp", ENDLESS)


main()
