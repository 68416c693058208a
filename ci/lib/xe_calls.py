#!/usr/bin/env python3
"""Makes calls on a device of the xe driver, the same ones for the same seed, and prints each with its answer.

    xe_calls.py SEED COUNT

Run on the real driver and on the software device, the outputs must be equal: errno, what comes back in structs, and bytes. Each call begins as a
right one, of the objects, address spaces and queues that there are; in every fifth, one field gets another value. Batches are run only where
they and what they access are bound, because no engine is reset without a GuC. Sizes and numbers that depend on the machine are not printed.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import random
import struct
import sys
import zlib
from pathlib import Path

from xe_device import (
    LOCAL,
    SYSTEM,
    U32,
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
    NODE,
    PrimeHandle,
    REQUESTS,
    Sync,
    SyncobjArray,
    SyncobjCreate,
    VmBind,
    VmBindOp,
    VmCreate,
    WaitUserFence,
    layout,
    read_write,
    write_only,
)

PAGE = 4096
# The sizes of objects: of whole pages of local memory, and of others.
SIZES = (64 << 10, 128 << 10, 256 << 10, 4096, 12288)
# Where things are bound: far from what the calls guess.
FRESH = 1 << 40
OTHER = FRESH + (1 << 20)
MAP, UNMAP, MAP_USERPTR, UNMAP_ALL, PREFETCH = range(5)
# What a field may become. Larger sizes would run out of memory here and there.
VALUES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 19, 31, 32, 255, 4095, 4096, 8192, 1 << 16, 1 << 20, (1 << 32) - 1, 1 << 47, (1 << 48) - PAGE, (1 << 64) - 1)
SMALL = tuple(value for value in VALUES if value <= 1 << 20)


class VmDestroy(ctypes.Structure):
    """struct drm_xe_vm_destroy."""

    _fields_ = layout("vm_id:I pad:I reserved:Q*2")


class ExecQueueDestroy(ctypes.Structure):
    """struct drm_xe_exec_queue_destroy."""

    _fields_ = layout("exec_queue_id:I pad:I reserved:Q*2")


class ExecQueueGetProperty(ctypes.Structure):
    """struct drm_xe_exec_queue_get_property."""

    _fields_ = layout("extensions:Q exec_queue_id:I property:I value:Q reserved:Q*2")


class ExecQueueSetProperty(ctypes.Structure):
    """struct drm_xe_exec_queue_set_property."""

    _fields_ = layout("extensions:Q exec_queue_id:I property:I value:Q reserved:Q*2")


class VmGetProperty(ctypes.Structure):
    """struct drm_xe_vm_get_property."""

    _fields_ = layout("extensions:Q vm_id:I property:I size:I pad:I data:Q reserved:Q*3")


class Observation(ctypes.Structure):
    """struct drm_xe_observation_param."""

    _fields_ = layout("extensions:Q type:Q operation:Q param:Q")


class QueryAttributes(ctypes.Structure):
    """struct drm_xe_vm_query_mem_range_attr."""

    _fields_ = layout("extensions:Q vm_id:I number:I start:Q range:Q size:Q vector:Q reserved:Q*2")


REQUESTS = REQUESTS | {
    VmDestroy: write_only(0x44, VmDestroy),
    ExecQueueDestroy: write_only(0x47, ExecQueueDestroy),
    ExecQueueGetProperty: read_write(0x48, ExecQueueGetProperty),
    Observation: write_only(0x4B, Observation),
    QueryAttributes: read_write(0x4D, QueryAttributes),
    ExecQueueSetProperty: write_only(0x4E, ExecQueueSetProperty),
    VmGetProperty: read_write(0x4F, VmGetProperty),
}


class Calls:
    """A device, and what was made of it."""

    def __init__(self):
        self.fd = os.open(NODE, os.O_RDWR | os.O_CLOEXEC)
        self.random = random.Random()
        self.number = 0
        self.objects, self.vms, self.queues, self.syncobjs = {}, {}, {}, []
        # The process's own pages: for userptr, fences and arrays.
        self.pages = mmap.mmap(-1, 64 << 10)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))
        size = DeviceQuery(query=1)
        self.ioctl(size)
        self.is_discrete = size.size > 96

    def ioctl(self, argument, code=None):
        """Makes the request of the struct; returns the errno, 0 for none."""
        try:
            fcntl.ioctl(self.fd, code or REQUESTS[type(argument)], argument)
        except OSError as error:
            return error.errno
        return 0

    def say(self, what, status, *more):
        """Prints a call with its answer."""
        answer = errno.errorcode.get(status, str(status)) if status else "ok"
        print(self.number, what, answer, *more)

    def one(self, known):
        """Returns one of the known ids, and sometimes an unknown one, or none."""
        ids = sorted(known)
        return self.random.choice(ids) if ids and self.random.random() < 0.96 else self.random.choice((0, 999))

    def spoil(self, argument, *, kept=(), values=VALUES):
        """Gives a field of every fifth struct another value; returns its name."""
        if self.random.random() > 0.2:
            return ""
        names = [name for name, *_ in argument._fields_ if name not in kept]
        name, value = self.random.choice(names), self.random.choice(values)
        field = getattr(argument, name)
        if isinstance(field, ctypes.Array):
            field[self.random.randrange(len(field))] = value & 0xFFFF
        elif not isinstance(field, ctypes.Structure):
            setattr(argument, name, value)
        return f" {name}={value:#x}"

    def create(self):
        """GEM_CREATE."""
        placement = self.random.choice((SYSTEM, LOCAL, SYSTEM | LOCAL) if self.is_discrete else (SYSTEM, SYSTEM, LOCAL))
        vm = self.random.choice((0, 0, self.one(self.vms)))
        create = GemCreate(
            size=self.random.choice(SIZES),
            placement=placement,
            flags=self.random.choice((0, 0, 0, 1, 2, 4, 8)),
            vm_id=vm,
            cpu_caching=self.random.choice((WB, WC)),
        )
        said = f"create size={create.size} placement={placement} flags={create.flags} vm={vm} caching={create.cpu_caching}"
        if self.random.random() < 0.1:
            # A chain of properties: protected content, or none of it.
            fields = [self.random.choice((0, 0, 0, 0, 0, 0, 1, 2)) for _ in range(4)]
            struct.pack_into("<QIIIIQ", self.pages, 0, self.random.choice((0, 0, self.at)), *fields, self.random.choice((0, 0, 1, 2)))
            create.extensions = self.at
            said += f" properties={self.pages[:32].hex()[16:]}"
        said += self.spoil(create, kept=("extensions", "vm_id"), values=SMALL)
        status = self.ioctl(create)
        if not status:
            self.objects[create.handle] = (create.size, vm)
        self.say(said, status, create.handle if not status else "")

    def offset(self):
        """MMAP_OFFSET, and bytes through the mapping."""
        handle = self.one(self.objects)
        request = GemMmapOffset(handle=handle)
        said = f"offset handle={handle}" + self.spoil(request, kept=("offset",))
        status = self.ioctl(request)
        found = ""
        if not status and request.handle in self.objects and not request.flags:
            size = self.objects[request.handle][0]
            length = self.random.choice((PAGE, PAGE, PAGE, size, size + PAGE))
            try:
                with mmap.mmap(self.fd, length, mmap.MAP_SHARED, offset=request.offset) as memory:
                    found = memory[:8].hex()
                    memory[:4] = struct.pack("<I", self.number)
            except OSError as error:
                found = f"mmap of {length}: {errno.errorcode[error.errno]}"
        self.say(said, status, found)

    def close(self):
        """GEM_CLOSE."""
        handle = self.one(self.objects)
        request = GemClose(handle=handle)
        said = f"close handle={handle}" + self.spoil(request)
        status = self.ioctl(request)
        if not status:
            self.objects.pop(request.handle, None)
        self.say(said, status)

    def vm_create(self):
        """VM_CREATE."""
        request = VmCreate(flags=self.random.choice((0, 0, 1, 1, 1, 1, 2, 3, 4, 6, 7, 8, 14)))
        said = f"vm flags={request.flags}" + self.spoil(request, kept=("vm_id",))
        status = self.ioctl(request)
        if not status:
            self.vms[request.vm_id] = request.flags
        self.say(said, status, request.vm_id if not status else "")

    def vm_destroy(self):
        """VM_DESTROY."""
        vm = self.one(self.vms)
        request = VmDestroy(vm_id=vm)
        said = f"vm-destroy vm={vm}" + self.spoil(request)
        status = self.ioctl(request)
        if not status:
            self.vms.pop(request.vm_id, None)
        self.say(said, status)

    def queue_create(self):
        """EXEC_QUEUE_CREATE."""
        vm = self.one(self.vms)
        engine = EngineClassInstance(engine_class=self.random.choice((0, 0, 1, 1, 1, 2, 3, 4, 5, 6)))
        said = f"queue vm={vm} class={engine.engine_class}" + self.spoil(engine)
        request = ExecQueueCreate(width=1, num_placements=1, vm_id=vm, instances=ctypes.addressof(engine))
        said += self.spoil(request, kept=("instances", "exec_queue_id", "extensions", "width", "num_placements"))
        status = self.ioctl(request)
        if not status:
            self.queues[request.exec_queue_id] = (request.vm_id, engine.engine_class)
        self.say(said, status, request.exec_queue_id if not status else "")

    def queue_destroy(self):
        """EXEC_QUEUE_DESTROY."""
        queue = self.one(self.queues)
        request = ExecQueueDestroy(exec_queue_id=queue)
        said = f"queue-destroy queue={queue}" + self.spoil(request)
        status = self.ioctl(request)
        if not status:
            self.queues.pop(request.exec_queue_id, None)
        self.say(said, status)

    def queue_property(self):
        """EXEC_QUEUE_GET_PROPERTY."""
        queue = self.one(self.queues)
        request = ExecQueueGetProperty(exec_queue_id=queue)
        said = f"queue-property queue={queue}" + self.spoil(request)
        status = self.ioctl(request)
        self.say(said, status, request.value)

    def queue_set_property(self):
        """EXEC_QUEUE_SET_PROPERTY."""
        queue = self.one(self.queues)
        request = ExecQueueSetProperty(exec_queue_id=queue, property=5, value=self.random.randrange(4))
        said = f"queue-set-property queue={queue} value={request.value}" + self.spoil(request)
        self.say(said, self.ioctl(request))

    def vm_property(self):
        """VM_GET_PROPERTY."""
        vm = self.one(self.vms)
        request = VmGetProperty(vm_id=vm, size=self.random.choice((0, 0, 32)), data=self.at)
        said = f"vm-property vm={vm} size={request.size}" + self.spoil(request, kept=("data",))
        status = self.ioctl(request)
        self.say(said, status, request.size)

    def observation(self):
        """OBSERVATION; samples of stalled EUs are refused to root for other reasons than to others."""
        kind, operation = self.random.choice(((0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (2, 0)))
        request = Observation(extensions=self.random.choice((0, 0, 0, 1)), type=kind, operation=operation, param=self.at)
        self.say(f"observation extensions={request.extensions} type={kind} operation={operation}", self.ioctl(request))

    def fdinfo(self):
        """The lines of the device in fdinfo, and what does not depend on time and on the driver's own objects."""
        lines = Path(f"/proc/self/fdinfo/{self.fd}").read_text().splitlines()
        lines = [line for line in lines if line.startswith("drm-")]
        same = [line for line in lines if line.startswith(("drm-driver", "drm-engine-capacity"))]
        self.say("fdinfo", 0, *(line.split(":")[0] for line in lines), *same)

    def attributes(self):
        """VM_QUERY_MEM_RANGE_ATTRS: the number of mappings, and then what is said about them."""
        vm = self.one(self.vms)
        start, length = self.random.choice((0, 0, 1 << 16, 3 << 16, 0x28000)), self.random.choice((1 << 40, 1 << 16, 1 << 18, 4096, 0))
        request = QueryAttributes(vm_id=vm, start=start, range=length)
        said = f"attributes vm={vm} start={start:#x} range={length:#x}" + self.spoil(request, kept=("vector",))
        status = self.ioctl(request)
        found = ""
        if not status:
            count = request.number + self.random.choice((0, 0, 0, 1, -1))
            found = f"{request.number} of {request.size}"
            if 0 < count < 1000:
                array = ctypes.create_string_buffer(64 * count)
                request = QueryAttributes(vm_id=vm, start=request.start, range=request.range, number=count, size=64, vector=ctypes.addressof(array))
                status = self.ioctl(request)
                found += " " + " ".join(array.raw[at : at + 64].hex() for at in range(0, len(array), 64))
        self.say(said, status, found)

    def operation(self, *, is_alone):
        """Returns an operation of VM_BIND, and its words.

        UNMAP_ALL is alone: after an operation of the same array that maps over a part of the object, the driver follows a null pointer
        (docs/findings.md).
        """
        op = self.random.choice((MAP, MAP, MAP, UNMAP, MAP_USERPTR, PREFETCH, UNMAP_ALL if is_alone else UNMAP))
        handle = self.one(self.objects)
        size = self.objects.get(handle, (SIZES[0], 0))[0]
        address = self.random.randrange(8) << 16
        # Of Xe2, 1 snoops, and so do 0 and 3 of others.
        index = self.random.choice((0, 1, 1, 1, 2, 3, 3, 4, 5))
        operation = VmBindOp(pat_index=index, op=op, addr=address, range=size)
        if op in (MAP, UNMAP_ALL):
            operation.obj = handle
        if op == MAP and self.random.random() < 0.2:
            operation.obj, operation.flags = 0, 4
        if op == MAP_USERPTR:
            operation.obj_offset = self.at
            operation.range = min(operation.range, 32 << 10)
        if op == UNMAP_ALL:
            operation.addr = operation.range = 0
        said = f"op={op} obj={operation.obj} pat={operation.pat_index} addr={operation.addr:#x} range={operation.range:#x} flags={operation.flags}"
        # Pages of other memory are not there, or are.
        kept = ("obj_offset",) if op == MAP_USERPTR else ()
        kept = kept if is_alone else (*kept, "op")
        return operation, said + self.spoil(operation, kept=(*kept, "extensions"))

    def syncs(self, user_fence):
        """Returns fences, their words, and what keeps them in memory."""
        syncs = (Sync * 2)()
        count = self.random.choice((0, 0, 1, 2))
        said = ""
        for sync in syncs[:count]:
            kind = self.random.choice((0, 0, 1, 2) if user_fence else (0, 0, 1))
            sync.type, sync.flags = kind, self.random.choice((0, 1, 1))
            sync.handle = self.at + 256 if kind == 2 else self.one(self.syncobjs)
            sync.timeline_value = self.number
            said += f" sync={kind}/{sync.flags}/{'' if kind == 2 else sync.handle}" + self.spoil(sync, kept=("handle", "extensions"))
        return syncs, count, said

    def bind(self):
        """VM_BIND of one operation or of an array."""
        vm = self.one(self.vms)
        count = self.random.choice((0, 1, 1, 1, 2, 3))
        operations, words = zip(*(self.operation(is_alone=count < 2) for _ in range(max(count, 1))))
        array = (VmBindOp * len(operations))(*operations)
        syncs, syncs_count, sync_words = self.syncs(True)
        request = VmBind(vm_id=vm, num_binds=count, num_syncs=syncs_count, syncs=ctypes.addressof(syncs))
        request.bind = operations[0]
        if count > 1:
            request.bind.extensions = ctypes.addressof(array)
        if self.random.random() < 0.1:
            request.exec_queue_id = self.one(self.queues)
        said = f"bind vm={vm} queue={request.exec_queue_id} [{'; '.join(words[:count])}]{sync_words}"
        said += self.spoil(request, kept=("bind", "num_binds", "num_syncs", "syncs", "exec_queue_id"))
        self.pages[256:264] = bytes(8)
        status = self.ioctl(request)
        if not status:
            self.settle(syncs, syncs_count)
        self.say(said, status, self.pages[256:264].hex() if syncs_count else "")

    def settle(self, syncs, count):
        """Waits until the numbers of user fences are stored."""
        for sync in syncs[:count]:
            if sync.type == 2:
                self.ioctl(WaitUserFence(addr=sync.handle, value=sync.timeline_value, mask=(1 << 64) - 1, timeout=10**10))

    def wait(self):
        """WAIT_USER_FENCE that does not wait."""
        self.pages[512:520] = struct.pack("<Q", self.random.choice((0, 1, 5)))
        request = WaitUserFence(
            addr=self.at + 512,
            op=self.random.randrange(7),
            value=self.random.choice((0, 1, 5)),
            mask=self.random.choice((1, 0xFF, (1 << 64) - 1)),
        )
        if self.random.random() < 0.3:
            request.exec_queue_id = self.one(self.queues)
        said = f"wait op={request.op} value={request.value} mask={request.mask:#x} queue={request.exec_queue_id}"
        said += self.spoil(request, kept=("addr", "timeout"))
        self.say(said, self.ioctl(request))

    def madvise(self):
        """MADVISE of the PAT index, or of what is not needed; nothing is purged meanwhile."""
        vm = self.one(self.vms)
        kind = self.random.choice((0, 1, 2, 2, 3, 4))
        request = Madvise(vm_id=vm, type=kind, start=self.random.randrange(8) << 16, range=64 << 10)
        request.value[0] = (0, self.random.randrange(5), self.random.randrange(6), self.random.choice((0, 0, 1)), 0)[kind]
        said = f"madvise vm={vm} type={kind} start={request.start:#x} value={request.value[0]}"
        kept = 0xFF
        if kind == 3:
            # Whether the contents are kept, as a dword of the process.
            told = self.random.choice((0, self.at, self.at))
            request.value[2], request.value[3] = told & 0xFFFFFFFF, told >> 32
            struct.pack_into("<I", self.pages, 0, kept)
            said += f" told={bool(told)}"
        said += self.spoil(request, kept=("value", "start"))
        status = self.ioctl(request)
        if kind == 3:
            (kept,) = struct.unpack_from("<I", self.pages, 0)
        self.say(said, status, kept)

    def syncobj(self):
        """SYNCOBJ_CREATE, with a fence that is signalled or without one."""
        request = SyncobjCreate(flags=self.random.choice((0, 1)))
        status = self.ioctl(request)
        self.syncobjs.append(request.handle)
        self.say(f"syncobj flags={request.flags}", status, request.handle)

    def export(self):
        """PRIME_HANDLE_TO_FD, and PRIME_FD_TO_HANDLE of what it gives."""
        handle = self.one(self.objects)
        request = PrimeHandle(handle=handle, flags=0x80000 | os.O_RDWR)
        status = self.ioctl(request)
        found = ""
        if not status:
            back = PrimeHandle(fd=request.fd)
            found = (self.ioctl(back, read_write(0x2E, PrimeHandle)), back.handle)
            os.close(request.fd)
        self.say(f"export handle={handle}", status, found)

    def query(self):
        """DEVICE_QUERY of what does not depend on the machine's memory and time."""
        number = self.random.choice((0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 99))
        request = DeviceQuery(query=number)
        said = f"query {number}" + self.spoil(request, kept=("size", "data"))
        status = self.ioctl(request)
        found = ""
        if not status and request.query != 1 and request.query != 6:
            data = ctypes.create_string_buffer(request.size + 1)
            if request.query == 7 and request.size >= 32:
                # A question about firmware: its kind, and fields that must be 0, or are ignored.
                struct.pack_into("<HHIIIIIQ", data, 0, *(self.random.choice((0, 0, 0, 0, 0, 1, 1, 2)) for _ in range(8)))
                data[2:4] = bytes(2) if self.random.random() < 0.8 else data[2:4]
                data[20:32] = bytes(12) if self.random.random() < 0.8 else data[20:32]
            request.data = ctypes.addressof(data)
            request.size += self.random.choice((0, 0, 0, 1))
            status = self.ioctl(request)
            # The configuration begins with the device's own number.
            found = data.raw[16 if request.query == 2 else 0 :].hex() if request.size < 4096 else ""
        self.say(said, status, found)

    def submit(self):
        """EXEC, which is refused, or has fences alone."""
        queue = self.one(self.queues)
        syncs, count, words = self.syncs(False)
        request = Exec(exec_queue_id=queue, num_syncs=count, syncs=ctypes.addressof(syncs))
        said = f"exec queue={queue}{words}" + self.spoil(request, kept=("address", "num_batch_buffer", "syncs", "num_syncs"))
        self.say(said, self.ioctl(request))

    def batch(self):
        """Returns a batch for an object at FRESH, which also stores to one at OTHER."""
        number = self.random.choice((0, 1, self.number, 0x7FFFFFFF, 0xFFFFFFFF))

        def command(first, at, *operands):
            return struct.pack(f"<{3 + len(operands)}I", first, FRESH + at & 0xFFFFFFFF, FRESH >> 32, *operands)

        # MI_STORE_DATA_IMM of dwords.
        words = [command(0x10000002, at, value) for at, value in ((4096, self.number), (8192, number), (8196, self.number))]
        # MI_ATOMIC: operations that there are, and are not; of 4, 8 and 16 bytes; with operands, or without.
        first = 0x17800000 | self.random.randrange(18) << 8 | self.random.choice((0, 0, 1, 1, 2)) << 19
        operands = [self.random.choice((0, 1, number, self.number, 0x80000000)) for _ in range(4)]
        inline = self.random.random() < 0.8
        words.append(command(first | 1 << 18 | 9, 8192, *operands, *[0] * 4) if inline else command(first | 1, 8192))
        # MI_CONDITIONAL_BATCH_BUFFER_END, on either dword, by each comparison.
        compared = struct.pack("<2I", 0x1B200002 | self.random.randrange(6) << 12, self.random.choice((0, number, self.number)))
        words.append(compared + struct.pack("<2I", FRESH + self.random.choice((8192, 8196)) & 0xFFFFFFFF, FRESH >> 32))
        words.append(command(0x10000002, 4100, self.number + 1))
        words.append(command(0x10000002, OTHER - FRESH, self.number))
        # MI_BATCH_BUFFER_END.
        return b"".join(words) + struct.pack("<2I", 0x05000000, 0)

    def table(self):
        """Reads the PAT table in debugfs: the entries, and from 7.2 on the indices that the driver uses itself."""
        folder = "/sys/kernel/debug/dri/0/gt0"
        name = next(name for name in ("pat_sw_config", "pat") if os.path.exists(f"{folder}/{name}"))
        with open(f"{folder}/{name}", encoding="ascii") as file:
            text = "".join(line for line in file if line.startswith(("PAT", "IDX")))
        self.say(f"table {name}", 0, zlib.crc32(text.encode()), text.count("\n"))

    def run(self):
        """Runs a batch on a fresh address space: it stores, changes what it stored, stores again if a dword is what it may be, and a user fence."""
        vm = VmCreate(flags=1)
        self.ioctl(vm)
        engine = EngineClassInstance(engine_class=self.random.choice((0, 1, 4)))
        queue = ExecQueueCreate(width=1, num_placements=1, vm_id=vm.vm_id, instances=ctypes.addressof(engine))
        status = self.ioctl(queue)
        said = f"run class={engine.engine_class}"
        placement = LOCAL if self.is_discrete and self.random.random() < 0.5 else SYSTEM
        caching = WC if placement == LOCAL else self.random.choice((WB, WC))
        index = self.random.randrange(5)
        made = GemCreate(size=64 << 10, placement=placement, cpu_caching=caching)
        status = status or self.ioctl(made)
        offset = GemMmapOffset(handle=made.handle)
        status = status or self.ioctl(offset)
        operation = VmBindOp(obj=made.handle, pat_index=index, range=64 << 10, addr=FRESH)
        bound = VmBind(vm_id=vm.vm_id, num_binds=1, bind=operation)
        status = status or self.ioctl(bound)
        said += f" placement={placement} caching={caching} pat={index}"
        # Another object, with advice about it or not, which can take its mapping away.
        other = GemCreate(size=64 << 10, placement=placement, cpu_caching=caching)
        status = status or self.ioctl(other)
        other_offset = GemMmapOffset(handle=other.handle)
        status = status or self.ioctl(other_offset)
        bound = VmBind(vm_id=vm.vm_id, num_binds=1, bind=VmBindOp(obj=other.handle, pat_index=index, range=64 << 10, addr=OTHER))
        status = status or self.ioctl(bound)
        kind = self.random.choice((None, 1, 2, 2))
        if not status and kind is not None:
            advice = Madvise(vm_id=vm.vm_id, type=kind, start=OTHER, range=self.random.choice((4096, 64 << 10)))
            advice.value[0] = self.random.randrange(4) if kind == 1 else self.random.choice((index, 0, 1, 2, 3))
            said += f" advice={kind},{advice.range:#x},{advice.value[0]}: {self.ioctl(advice)}"
        found = ""
        if not status:
            with (
                mmap.mmap(self.fd, 64 << 10, mmap.MAP_SHARED, offset=offset.offset) as memory,
                mmap.mmap(self.fd, 64 << 10, mmap.MAP_SHARED, offset=other_offset.offset) as other_memory,
            ):
                batch = self.batch()
                memory[: len(batch)] = batch
                # The address of the GPU; the CPU's is that of the mapping.
                fence = Sync(type=2, flags=1, handle=FRESH + 12288, timeline_value=self.number)
                request = Exec(
                    exec_queue_id=queue.exec_queue_id,
                    num_syncs=1,
                    syncs=ctypes.addressof(fence),
                    address=FRESH,
                    num_batch_buffer=1,
                )
                status = self.ioctl(request)
                at = ctypes.addressof(ctypes.c_char.from_buffer(memory, 12288)) if not status else 0
                waits = WaitUserFence(addr=at, value=self.number, mask=(1 << 64) - 1, timeout=10**10)
                found = (self.ioctl(waits) if not status else "", memory[4096:4104].hex(), memory[8192:8200].hex(), memory[12288:12296].hex())
                found += (other_memory[:4].hex(),)
        self.say(said, status, found)
        self.ioctl(ExecQueueDestroy(exec_queue_id=queue.exec_queue_id))
        self.ioctl(VmDestroy(vm_id=vm.vm_id))
        self.ioctl(GemClose(handle=made.handle))
        self.ioctl(GemClose(handle=other.handle))


# Each kind of call, and how often it is made.
KINDS = (
    (Calls.create, 6),
    (Calls.offset, 5),
    (Calls.close, 2),
    (Calls.vm_create, 2),
    (Calls.vm_destroy, 1),
    (Calls.queue_create, 4),
    (Calls.queue_destroy, 1),
    (Calls.queue_property, 1),
    (Calls.queue_set_property, 1),
    (Calls.vm_property, 1),
    (Calls.observation, 1),
    (Calls.fdinfo, 1),
    (Calls.attributes, 3),
    (Calls.bind, 14),
    (Calls.wait, 3),
    (Calls.madvise, 4),
    (Calls.syncobj, 1),
    (Calls.export, 2),
    (Calls.query, 3),
    (Calls.submit, 4),
    (Calls.run, 4),
    (Calls.table, 1),
)


def main():
    """Makes the calls of the command line."""
    seed, count = map(int, sys.argv[1:])
    calls = Calls()
    kinds, weights = zip(*KINDS)
    # There is something to begin with.
    first = (Calls.vm_create, *[Calls.create] * 4, *[Calls.queue_create] * 2, Calls.syncobj)
    for calls.number in range(1, count + 1):
        # What differs in one call changes the next ones little.
        calls.random.seed(f"{seed} {calls.number}")
        kind = first[calls.number - 1] if calls.number <= len(first) else calls.random.choices(kinds, weights)[0]
        kind(calls)


main()
