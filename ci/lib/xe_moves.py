#!/usr/bin/env python3
"""Fills the local memory of a device of the xe driver, and prints which objects are in it after each call.

    xe_moves.py PERCENT SECONDS

Run on the real driver and on a software device with as much local memory, the outputs must be equal: errno, the bytes of objects, and the memory that
QUERY counts, in objects. An object is PERCENT of local memory: 28, so that three fit. SECONDS is how long nothing changes before that is printed.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import struct
import sys
import time

from xe_device import (
    LOCAL,
    NODE,
    REQUESTS,
    SYSTEM,
    WB,
    WC,
    DeviceQuery,
    EngineClassInstance,
    Exec,
    ExecQueueCreate,
    GemClose,
    GemCreate,
    GemMmapOffset,
    Madvise,
    PrimeHandle,
    Sync,
    VmBind,
    VmBindOp,
    VmCreate,
    WaitUserFence,
)

BOTH = SYSTEM | LOCAL
PAGE = 4096
DEFERRED, LONG_RUNNING = 1, 2
MAP, UNMAP, PREFETCH = 0, 1, 4
SYNC_READ, SYNC_WRITE, SYNC_END = 1, 2, 4
DMA_BUF_IOCTL_SYNC = 0x40086200
# The addresses of the batch, and of the Nth object.
BATCH = 1 << 40
PERCENT, SECONDS = int(sys.argv[1]), float(sys.argv[2])
MI_STORE_DATA_IMM, MI_BATCH_BUFFER_END = 0x10000002, 0x05000000


def address_of(number):
    """Returns the GPU's address of an object."""
    return number << 32


class Device:
    """A device, and what is in its memory beside what was there at first."""

    def __init__(self):
        self.fd = os.open(NODE, os.O_RDWR | os.O_CLOEXEC)
        self.maps = {}
        (_, self.system), (total, self.local) = self.regions()
        self.total = total
        self.size = (total - self.local) * PERCENT // 100 & ~0xFFFF

    def ioctl(self, argument, code=None, fd=None):
        """Makes the request of the struct; returns the name of the errno, or ok."""
        try:
            fcntl.ioctl(fd or self.fd, code or REQUESTS[type(argument)], argument)
        except OSError as error:
            return errno.errorcode[error.errno]
        return "ok"

    def regions(self):
        """Returns the size and the used bytes of system memory and of local memory."""
        query = DeviceQuery(query=1)
        self.ioctl(query)
        data = ctypes.create_string_buffer(query.size)
        query.data = ctypes.addressof(data)
        self.ioctl(query)
        return [struct.unpack_from("<QQ", data.raw, 8 + 88 * region + 8) for region in range(2)]

    def say(self, *what):
        """Prints what was done, and how many objects' bytes are in system and in local memory."""
        # The driver frees memory that an object has left a little later.
        regions = []
        while regions != self.regions():
            regions = self.regions()
            time.sleep(SECONDS)
        (_, system), (_, local) = regions
        print(*what, "| system", round((system - self.system) / self.size, 1), "local", round((local - self.local) / self.size, 1))

    def create(self, placement, flags=0, vm=0, part=100, caching=WC, size=None):
        """GEM_CREATE of a part of an object's size; returns the handle, or the errno's name."""
        size = size or self.size * part // 100 & ~0xFFFF
        made = GemCreate(size=size, placement=placement, cpu_caching=caching, flags=flags, vm_id=vm)
        status = self.ioctl(made)
        return made.handle if status == "ok" else status

    def made(self, what, *args, **kwargs):
        """As create; prints it."""
        handle = self.create(*args, **kwargs)
        self.say(what, handle if isinstance(handle, str) else "ok")
        return handle

    def close(self, *handles):
        """GEM_CLOSE of those that were created."""
        for handle in handles:
            if isinstance(handle, int):
                self.ioctl(GemClose(handle=handle))

    def map(self, handle):
        """Maps the beginning of an object."""
        request = GemMmapOffset(handle=handle)
        self.ioctl(request)
        return mmap.mmap(self.fd, 4 * PAGE, offset=request.offset)


class Vm:
    """An address space, a queue of the copy engine unless it is long-running, and a batch."""

    def __init__(self, device, flags=0, index=1):
        self.device, self.index, self.fences = device, index, 0
        made = VmCreate(flags=flags)
        device.ioctl(made)
        self.id = made.vm_id
        if flags & LONG_RUNNING:
            return
        self.batch = device.create(SYSTEM, caching=WB, size=64 << 10)
        self.bind(self.batch, BATCH, size=64 << 10)
        self.memory = device.map(self.batch)
        engine = EngineClassInstance(engine_class=1)
        queue = ExecQueueCreate(width=1, num_placements=1, vm_id=self.id, instances=ctypes.addressof(engine))
        device.ioctl(queue)
        self.queue = queue.exec_queue_id

    def operation(self, handle, address, op=MAP, region=0, size=None):
        """Returns an operation of VM_BIND."""
        made = VmBindOp(obj=handle, range=size or self.device.size, addr=address, op=op, pat_index=self.index)
        made.prefetch_mem_region_instance = region
        return made

    def bind(self, *args, **kwargs):
        """VM_BIND of one operation."""
        return self.device.ioctl(VmBind(vm_id=self.id, num_binds=1, bind=self.operation(*args, **kwargs)))

    def bind_all(self, *operations):
        """VM_BIND of several operations."""
        array = (VmBindOp * len(operations))(*operations)
        request = VmBind(vm_id=self.id, num_binds=len(operations))
        request.bind.extensions = ctypes.addressof(array)
        return self.device.ioctl(request)

    def prefetch(self, number, region):
        """VM_BIND that moves an object."""
        return self.bind(0, address_of(number), op=PREFETCH, region=region)

    def run(self, *words):
        """EXEC of a batch, and the wait for its end."""
        code = struct.pack(f"<{len(words) + 2}I", *words, MI_BATCH_BUFFER_END, 0)
        self.memory[: len(code)] = code
        self.fences += 1
        fence = Sync(type=2, flags=1, handle=BATCH + PAGE, timeline_value=self.fences)
        status = self.device.ioctl(
            Exec(exec_queue_id=self.queue, num_syncs=1, syncs=ctypes.addressof(fence), address=BATCH, num_batch_buffer=1)
        )
        if status != "ok":
            return status
        at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory, PAGE))
        return self.device.ioctl(WaitUserFence(addr=at, value=self.fences, mask=(1 << 64) - 1, timeout=10**10))

    def store(self, number, offset, value):
        """Lets the GPU store a dword to an object."""
        address = address_of(number) + offset
        return self.run(MI_STORE_DATA_IMM, address & 0xFFFFFFFF, address >> 32, value)

    def advise(self, number, value):
        """MADVISE whether contents are needed; returns whether they were retained, too."""
        retained = ctypes.c_uint32()
        at = ctypes.addressof(retained)
        request = Madvise(start=address_of(number), range=self.device.size, vm_id=self.id, type=3)
        request.value[0], request.value[2], request.value[3] = value, at & 0xFFFFFFFF, at >> 32
        return self.device.ioctl(request), retained.value


def eviction(device, vm):
    """What takes the place of others, and what comes back."""
    for placement in (LOCAL, BOTH):
        device.made("larger than local memory", placement, size=device.total + (64 << 10))
    first, second, third = (device.made("local", LOCAL) for _ in range(3))
    one, two = device.map(first), device.map(second)
    one[:4], two[:4] = b"one.", b"two."
    fourth = device.made("a fourth", LOCAL)
    print(one[:4], two[:4])
    device.say("bind the first", vm.bind(first, address_of(1)))
    device.say("submit", vm.store(1, 64, 0x2E757067))
    fifth = device.made("one for both", BOTH)
    device.say("submit", vm.run())
    print(one[:4], one[64:68], two[:4])
    for region in (0, 1):
        device.say("prefetch the first", vm.prefetch(1, region))
    device.say("bind the fifth", vm.bind(fifth, address_of(5)))
    five = device.map(fifth)
    five[:4] = b"five"
    for region in (0, 0):
        device.say("prefetch the fifth", vm.prefetch(5, region))
    five[4:8] = b"more"
    sixth = device.made("a sixth", LOCAL)
    device.say("submit", vm.run())
    device.close(sixth)
    device.say("close the sixth")
    device.say("submit", vm.run())
    device.say("bind the fifth again", vm.bind(fifth, address_of(15)))
    device.say("prefetch the fifth", vm.prefetch(5, 0))
    device.say("submit", vm.store(5, 64, 0x2E757067))
    export = PrimeHandle(handle=fifth, flags=2)
    device.ioctl(export)
    for flags in (SYNC_WRITE, SYNC_WRITE | SYNC_END, SYNC_READ, SYNC_READ | SYNC_END, SYNC_READ | SYNC_WRITE):
        device.say("sync", flags, device.ioctl(ctypes.c_uint64(flags), DMA_BUF_IOCTL_SYNC, export.fd))
        device.say("submit", vm.run())
    os.close(export.fd)
    print(five[:8], five[64:68])
    device.close(second, third, fourth)
    device.say("close the others")
    for number, handle in ((1, first), (5, fifth), (15, fifth)):
        vm.bind(0, address_of(number), op=UNMAP)
        device.close(handle)
    for mapping in (one, two, five):
        mapping.close()
    device.say("close all")


def own(device):
    """Objects of one address space."""
    vm = Vm(device, index=INDEX)
    objects = []
    for number in (1, 2, 3, 4):
        objects.append(device.made("own", LOCAL, vm=vm.id))
        device.say("bind", vm.bind(objects[-1], address_of(number)))
        device.say("submit", vm.run())
    objects.append(device.made("own for both", BOTH, vm=vm.id))
    late, later = device.create(LOCAL, DEFERRED), device.create(LOCAL, DEFERRED)
    device.say("bind two", vm.bind_all(vm.operation(late, address_of(6)), vm.operation(later, address_of(7))))
    device.say("bind one", vm.bind(late, address_of(6)))
    touched = device.create(BOTH, DEFERRED)
    memory = device.map(touched)
    memory[:4] = b"late"
    device.say("touch")
    device.say("bind", vm.bind(touched, address_of(8)))
    print(memory[:4])
    memory.close()
    for number in (1, 2, 3, 4, 6, 8):
        vm.bind(0, address_of(number), op=UNMAP)
    device.close(*objects, late, later, touched)
    device.say("close all")


def long_running(device):
    """Objects of a long-running address space."""
    vm = Vm(device, LONG_RUNNING, index=INDEX)
    objects = []
    for number in (1, 2, 3, 4, 5):
        objects.append(device.made("own", LOCAL if number < 5 else BOTH, vm=vm.id))
        if number < 4:
            device.say("bind", vm.bind(objects[-1], address_of(number)))
    device.say("bind the first again", vm.bind(objects[0], address_of(6)))
    for number in (1, 2, 3, 6):
        vm.bind(0, address_of(number), op=UNMAP)
    device.close(*objects)
    device.say("close all")


def uses(device):
    """A submission is a use of the VM's own objects."""
    for submits in (False, True):
        vm = Vm(device, index=INDEX)
        mine = device.create(LOCAL, vm=vm.id)
        vm.bind(mine, address_of(1))
        other = device.made("a large one", LOCAL, part=190)
        if submits:
            device.say("submit", vm.run())
        last = device.made("one that needs room", LOCAL, part=90)
        vm.bind(0, address_of(1), op=UNMAP)
        device.close(mine, other, last)
        device.say("close all")


def purge(device, vm):
    """Contents that are not needed."""
    objects = [device.create(LOCAL) for _ in range(3)]
    for number, handle in enumerate(objects, 1):
        vm.bind(handle, address_of(number))
    print("not needed", vm.advise(1, 1))
    objects.append(device.made("a fourth", LOCAL))
    for number in (1, 2):
        print("prefetch", vm.prefetch(number, 0), vm.prefetch(number, 1))
    print("not needed", vm.advise(2, 1), vm.prefetch(2, 1), vm.advise(2, 0))
    device.say("needed", vm.advise(1, 0))
    device.say("submit", vm.run())


DEVICE = Device()
# The PAT index by which the GPU snoops: 1 of Xe2, 0 of others.
probe = Vm(DEVICE, LONG_RUNNING)
INDEX = 1 if probe.bind(DEVICE.create(SYSTEM, caching=WB, size=64 << 10), BATCH, size=64 << 10) == "ok" else 0
VM = Vm(DEVICE, index=INDEX)
eviction(DEVICE, VM)
own(DEVICE)
long_running(DEVICE)
uses(DEVICE)
purge(DEVICE, VM)
