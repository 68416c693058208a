#!/usr/bin/env python3
"""Checks, on a device of the xe driver, which PAT indices an object may be bound with, and what the CPU and the GPU see.

Each PAT index is tried with an object that the CPU maps write-back (WB), with one that it maps write-combining (WC), and
with one in local memory, where there is some. xe refuses (EINVAL) a WB object with an index by which the GPU does not
snoop, so that no program has to flush. Columns of the table, with the bytes that were seen (new, old or other ones):

    bind        the answer of VM_BIND
    GPU reads   the copy engine reads what the CPU has just stored over older bytes
    GPU writes  the CPU loads what the copy engine has just written over older bytes
    fresh       the copy engine reads a new WC object: zeros are new, the bytes of objects freed before are old

On DG2 the two registers that tell the size of local memory must agree: later drivers read the second one.

Prints the table and 'N passed, N failed, N skipped'. Exit status 1: a cell or a register is not as expected.
"""

import ctypes
import errno
import mmap
import os
import sys

from xe_device import LOCAL, NODE, SIZE, SYSTEM, WB, WC, Device, Object

CACHING = {WB: "WB", WC: "WC"}
OLD, NEW, OTHER, ZERO = (bytes([value]) for value in (0x11, 0x22, 0x33, 0))
# PAT indices of xe's tables, and those by which the GPU snoops (xe_pat.c), by graphics version.
GRAPHICS_12 = (set(range(4)), {0})
GRAPHICS_12_70 = (set(range(5)), {3, 4})
# 16 to 19 are reserved; from version 30 on, 16 compresses.
GRAPHICS_20 = (set(range(32)) - {16, 17, 18, 19}, {1, 2, 4, 5, 7, 22, 23, 26, 27, 30, 31})
GRAPHICS_30 = (GRAPHICS_20[0] | {16}, GRAPHICS_20[1] | {16})
PAT = {
    0x9A49: GRAPHICS_12,
    0x4C8A: GRAPHICS_12,
    0x4680: GRAPHICS_12,
    0x4905: GRAPHICS_12,
    0x56A0: GRAPHICS_12,
    0x7D55: GRAPHICS_12_70,
    0x64A0: GRAPHICS_20,
    0xE221: GRAPHICS_20,
    0xB080: GRAPHICS_30,
}

# DG2's registers with the size of local memory in GiB, from bit 8: XEHP_TILE0_ADDR_RANGE, which the driver of 6.12 reads,
# and SG_TILE_ADDR_RANGE, which later ones read ("drm/xe: Use SG_TILE_ADDR_RANGE instead of TILE_ADDR_RANGE").
DG2 = 0x56A0
TILE_SIZES = (("XEHP_TILE0_ADDR_RANGE", 0x4900, 0x7F), ("SG_TILE_ADDR_RANGE", 0x1083A0, 0x3FF))


class Copier:
    """The copy engine, with a batch and an object `near` that the GPU snoops."""

    PITCH = 4096

    def __init__(self, device, snooped):
        self.device = device
        self.batch, self.near = Object(device, WB), Object(device, WB)
        self.batch_at, self.near_at = device.bind(self.batch, snooped), device.bind(self.near, snooped)

    def copy(self, target, source):
        """Copies SIZE bytes between two addresses."""
        words = [
            2 << 29 | 0x42 << 22 | 8,  # XY_FAST_COPY_BLT, 10 dwords
            3 << 24 | self.PITCH,  # 32 bits a pixel
            0,
            SIZE // self.PITCH << 16 | self.PITCH // 4,
            target & 0xFFFFFFFF,
            target >> 32,
            0,
            self.PITCH,
            source & 0xFFFFFFFF,
            source >> 32,
            0x0A << 23,  # MI_BATCH_BUFFER_END
            0,
        ]
        data = bytes((ctypes.c_uint32 * len(words))(*words))
        self.batch.memory[: len(data)] = data
        self.device.run(self.batch_at)

    def read_by_gpu(self, address):
        """Returns the bytes at an address as the GPU sees them."""
        self.near.fill(OTHER)
        self.copy(self.near_at, address)
        return self.near.memory[:]

    def write_by_gpu(self, address, value):
        """Lets the GPU write the byte everywhere."""
        self.near.fill(value)
        self.copy(address, self.near_at)


def seen(data, new, old):
    """Returns the name of the bytes, or how many there are of each name."""
    counts = {"new": data.count(new), "old": data.count(old)}
    counts["other"] = len(data) - sum(counts.values())
    found = {name: count for name, count in counts.items() if count}
    return next(iter(found)) if len(found) == 1 else ", ".join(f"{count} {name}" for name, count in found.items())


def gpu_reads(copier, item, address):
    """Returns what the GPU reads after the CPU's stores."""
    item.fill(OLD)
    # The GPU, and a cache of it, has the old bytes.
    copier.read_by_gpu(address)
    item.fill(NEW)
    return seen(copier.read_by_gpu(address), NEW, OLD)


def gpu_writes(copier, item, address):
    """Returns what the CPU loads after the GPU's writes. Its cache may hold the old bytes."""
    item.fill(OLD)
    copier.write_by_gpu(address, NEW)
    return seen(item.memory[:], NEW, OLD)


def fresh(device, copier, placement, pat_index):
    """Returns what the GPU reads in a new WC object."""
    # The new object gets memory of these; in system memory their bytes may still be in the CPU's cache.
    caching = WB if placement == SYSTEM else WC
    before = [Object(device, caching, placement) for _ in range(4)]
    for item in before:
        item.fill(OLD)
        item.close()
    item = Object(device, WC, placement)
    result = seen(copier.read_by_gpu(device.bind(item, pat_index)), ZERO, OLD)
    item.close()
    return result


def examine(device, copier, caching, placement, pat_index):
    """Returns the cells of a row."""
    item = Object(device, caching, placement)
    try:
        address = device.bind(item, pat_index)
    except OSError as error:
        return [errno.errorcode.get(error.errno, str(error.errno)), "-", "-", "-"]
    cells = ["bound", gpu_reads(copier, item, address), gpu_writes(copier, item, address)]
    item.close()
    return [*cells, fresh(device, copier, placement, pat_index) if caching == WC else "-"]


def expected(caching, coherent, exists):
    """Returns the cells that a row must have."""
    if not exists or caching == WB and not coherent:
        return ["EINVAL", "-", "-", "-"]
    return ["bound", "new", "new", "new" if caching == WC else "-"]


COLUMNS = ["PAT", "memory", "object", "bind", "GPU reads", "GPU writes", "fresh"]


def tile_sizes():
    """Returns the sizes of local memory in GiB that registers tell, by their names."""
    sizes = {}
    with open(f"/sys/class/drm/{os.path.basename(NODE)}/device/resource0", "rb") as registers:
        for name, register, bits in TILE_SIZES:
            page = register & ~(mmap.PAGESIZE - 1)
            with mmap.mmap(registers.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ, offset=page) as words:
                value = int.from_bytes(words[register - page : register - page + 4], "little")
            sizes[name] = value >> 8 & bits
    return sizes


def line(cells):
    """Prints a line of the table."""
    print("  ".join(f"{cell!s:10}" for cell in cells).rstrip(), flush=True)


def main():
    """Prints the table; returns the exit status."""
    driver = os.path.basename(os.readlink(f"/sys/class/drm/{os.path.basename(NODE)}/device/driver"))
    if driver != "xe":
        sys.exit(f"{NODE} belongs to the driver '{driver}', not to xe")
    device = Device()
    if device.device_id not in PAT:
        sys.exit(f"{NODE}: the PAT indices of device {device.device_id:#06x} are not known")
    indices, snooped = PAT[device.device_id]
    copier = Copier(device, min(snooped))
    objects = [("system", SYSTEM, WB), ("system", SYSTEM, WC)]
    if device.has_local_memory:
        objects.append(("local", LOCAL, WC))
    print(f"xe, device {device.device_id:#06x}, {len(indices)} PAT indices")
    line(COLUMNS)
    passed, failures = 0, []
    # Reserved ones and one more than there are: EINVAL, too.
    tried = range(max(indices) + 2)
    for pat_index in tried:
        for memory, placement, caching in objects:
            where = [pat_index, memory, CACHING[caching]]
            cells = examine(device, copier, caching, placement, pat_index)
            line([*where, *cells])
            wanted = expected(caching, pat_index in snooped, pat_index in indices)
            for column, cell, want in zip(COLUMNS[len(where) :], cells, wanted):
                if cell != want:
                    failures.append(f"PAT {pat_index}, {memory}, {CACHING[caching]}: {column}: {cell}, not {want}")
                elif cell != "-":
                    passed += 1
    if device.device_id == DG2:
        sizes = tile_sizes()
        if min(sizes.values()) > 0 and len(set(sizes.values())) == 1:
            passed += 1
        else:
            failures.append(f"the size of local memory in GiB: {sizes}")
    for failure in failures:
        print(f"failed: {failure}")
    skipped = 0 if device.has_local_memory else len(tried)
    if skipped:
        print("skipped: local memory: there is none")
    print(f"{passed} passed, {len(failures)} failed, {skipped} skipped")
    return 1 if failures else 0


try:
    sys.exit(main())
except OSError as error:
    sys.exit(f"{NODE}: {error}")
