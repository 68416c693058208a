#!/usr/bin/env python3
"""Makes calls whose effect the rules cannot tell: PREAD and PWRITE that fail half-way, and batches with relocations.

Runs as the command of `gemtool trace` in a virtual machine of crates/vm. Prints how many calls of each kind there
were; a kind that the platform refuses is "refused". Fails if a call ends otherwise: the trace would show nothing.
"""

import ctypes
import errno
import fcntl
import glob
import mmap
import os
import struct
import sys

PAGE = 4096
CPU, GTT = 1, 64
BATCH_BUFFER_END = 0x05000000

libc = ctypes.CDLL(None, use_errno=True)
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def request(number, size, writes):
    """The number of a DRM request with a struct of `size` bytes."""
    return (3 if writes else 1) << 30 | size << 16 | ord("d") << 8 | number


CREATE = request(0x5B, 16, True)
PREAD = request(0x5C, 32, False)
PWRITE = request(0x5D, 32, False)
SET_DOMAIN = request(0x5F, 12, False)
EXECBUFFER2 = request(0x69, 64, False)
CLOSE = request(0x09, 8, False)


def call(number, layout, *values):
    """Makes a request; returns the struct's values afterwards."""
    data = bytearray(struct.pack(layout, *values))
    fcntl.ioctl(DEVICE, number, data)
    return struct.unpack(layout, data)


def create(pages):
    return call(CREATE, "QII", pages * PAGE, 0, 0)[1]


def set_domain(handle, read, write):
    call(SET_DOMAIN, "III", handle, read, write)


def close(handle):
    call(CLOSE, "II", handle, 0)


def torn(pages):
    """The address of that many pages, of which the last one is not there."""
    memory = mmap.mmap(-1, pages * PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    KEPT.append(memory)
    if libc.munmap(address + (pages - 1) * PAGE, PAGE) != 0:
        raise OSError(ctypes.get_errno(), "munmap")
    return address


def refused(number, handle, offset, length, address):
    """A transfer that has to fail half-way."""
    try:
        call(number, "IIQQQ", handle, 0, offset, length, address)
    except OSError as error:
        # EIO: from 7.2 on, for a PWRITE that is short.
        if error.errno in [errno.EFAULT, errno.EIO]:
            return
        raise
    sys.exit("a transfer from memory that is not there succeeded")


def use(handle):
    """Calls whose flushes depend on the state in which a transfer left the object."""
    for read, write in [(CPU, 0), (GTT, GTT), (CPU, CPU), (GTT, 0)]:
        set_domain(handle, read, write)
    close(handle)


# What an object did before.
STATES = {
    "fresh": [],
    "read by the CPU": [(CPU, 0)],
    "written by the CPU": [(CPU, CPU)],
    "read through the aperture": [(GTT, 0)],
    "written through the aperture": [(GTT, GTT)],
    "clean": [(CPU, CPU), (GTT, GTT), (CPU, 0)],
}


def transfers(number):
    for domains in STATES.values():
        for offset in [0, 60]:
            handle = create(3)
            for read, write in domains:
                set_domain(handle, read, write)
            refused(number, handle, offset, 2 * PAGE + 100, torn(3))
            use(handle)
    return len(STATES) * 2


def relocated():
    """Submissions of a batch that gets the address of another object."""
    count = 0
    for domains in STATES.values():
        target, batch = create(1), create(1)
        text = struct.pack("<IIII", BATCH_BUFFER_END, 0, 0, 0)
        memory = ctypes.create_string_buffer(text, len(text))
        call(PWRITE, "IIQQQ", batch, 0, 0, len(text), ctypes.addressof(memory))
        for read, write in domains:
            set_domain(batch, read, write)
        for _ in range(2):
            relocation = struct.pack("<IIQQII", target, 0, 256, 2**64 - 1, 2, 0)
            relocations = ctypes.create_string_buffer(relocation, len(relocation))
            objects = struct.pack("<IIQQQQQQ", target, 0, 0, 0, 0, 0, 0, 0)
            objects += struct.pack("<IIQQQQQQ", batch, 1, ctypes.addressof(relocations), 0, 0, 0, 0, 0)
            listed = ctypes.create_string_buffer(objects, len(objects))
            args = ctypes.addressof(listed), 2, 0, 16, 0, 0, 0, 0, 0, 0, 0
            call(EXECBUFFER2, "<QIIIIIIQQQQ", *args)
            count += 1
        use(target)
        use(batch)
    return count


def said(kind, make):
    """Prints how many calls of that kind there were."""
    try:
        print(f"{kind}: {make()}", flush=True)
    except OSError as error:
        if error.errno not in [errno.EOPNOTSUPP, errno.EINVAL]:
            raise
        print(f"{kind}: refused", flush=True)


KEPT = []
DEVICE = os.open(sorted(glob.glob("/dev/dri/renderD*"))[0], os.O_RDWR | os.O_CLOEXEC)
said("PWRITEs that failed half-way", lambda: transfers(PWRITE))
said("PREADs that failed half-way", lambda: transfers(PREAD))
said("submissions with relocations", relocated)
