"""A device of the xe driver: structs and requests of drm/xe_drm.h and drm/drm.h, an address space, a queue, objects."""

import ctypes
import fcntl
import mmap
import os
import time

NODE = "/dev/dri/renderD128"
# Enough for the pages of local memory (64 KiB). Few enough that the C library copies it without non-temporal stores.
SIZE = 64 << 10
# Values of cpu_caching and placement.
WB, WC = 1, 2
SYSTEM, LOCAL = 1, 2
U32, U64 = ctypes.c_uint32, ctypes.c_uint64
TYPES = {"H": ctypes.c_uint16, "I": U32, "Q": U64, "q": ctypes.c_int64}


def layout(text):
    """Fields from words "NAME:TYPE" or "NAME:TYPE*COUNT"."""
    fields = []
    for word in text.split():
        name, kind = word.split(":")
        kind, _, count = kind.partition("*")
        fields.append((name, TYPES[kind] * int(count) if count else TYPES[kind]))
    return fields


class DeviceQuery(ctypes.Structure):
    """struct drm_xe_device_query."""

    _fields_ = layout("extensions:Q query:I size:I data:Q reserved:Q*2")


class GemCreate(ctypes.Structure):
    """struct drm_xe_gem_create."""

    _fields_ = layout(
        "extensions:Q size:Q placement:I flags:I vm_id:I "
        "handle:I cpu_caching:H pad:H*3 reserved:Q*2"
    )


class GemMmapOffset(ctypes.Structure):
    """struct drm_xe_gem_mmap_offset."""

    _fields_ = layout("extensions:Q handle:I flags:I offset:Q reserved:Q*2")


class GemClose(ctypes.Structure):
    """struct drm_gem_close."""

    _fields_ = layout("handle:I pad:I")


class VmCreate(ctypes.Structure):
    """struct drm_xe_vm_create."""

    _fields_ = layout("extensions:Q flags:I vm_id:I reserved:Q*2")


class VmBindOp(ctypes.Structure):
    """struct drm_xe_vm_bind_op."""

    _fields_ = layout(
        "extensions:Q obj:I pat_index:H pad:H obj_offset:Q range:Q "
        "addr:Q op:I flags:I prefetch_mem_region_instance:I pad2:I reserved:Q*3"
    )


class VmBind(ctypes.Structure):
    """struct drm_xe_vm_bind with one operation."""

    _fields_ = [
        *layout("extensions:Q vm_id:I exec_queue_id:I pad:I num_binds:I"),
        ("bind", VmBindOp),
        *layout("pad2:I num_syncs:I syncs:Q reserved:Q*2"),
    ]


class EngineClassInstance(ctypes.Structure):
    """struct drm_xe_engine_class_instance."""

    _fields_ = layout("engine_class:H engine_instance:H gt_id:H pad:H")


class ExecQueueCreate(ctypes.Structure):
    """struct drm_xe_exec_queue_create."""

    _fields_ = layout(
        "extensions:Q width:H num_placements:H vm_id:I "
        "flags:I exec_queue_id:I instances:Q reserved:Q*2"
    )


class Sync(ctypes.Structure):
    """struct drm_xe_sync with a syncobj."""

    _fields_ = layout("extensions:Q type:I flags:I handle:Q timeline_value:Q reserved:Q*2")


class Exec(ctypes.Structure):
    """struct drm_xe_exec with one batch."""

    _fields_ = layout(
        "extensions:Q exec_queue_id:I num_syncs:I syncs:Q "
        "address:Q num_batch_buffer:H pad:H*3 reserved:Q*2"
    )


class SyncobjCreate(ctypes.Structure):
    """struct drm_syncobj_create."""

    _fields_ = layout("handle:I flags:I")


class SyncobjWait(ctypes.Structure):
    """struct drm_syncobj_wait."""

    _fields_ = layout("handles:Q timeout_nsec:q count_handles:I flags:I first_signaled:I pad:I deadline_nsec:Q")


class SyncobjArray(ctypes.Structure):
    """struct drm_syncobj_array."""

    _fields_ = layout("handles:Q count_handles:I pad:I")


class WaitUserFence(ctypes.Structure):
    """struct drm_xe_wait_user_fence."""

    _fields_ = layout(
        "extensions:Q addr:Q op:H flags:H pad:I value:Q mask:Q timeout:q exec_queue_id:I pad2:I reserved:Q*2"
    )


class Madvise(ctypes.Structure):
    """struct drm_xe_madvise."""

    _fields_ = layout("extensions:Q start:Q range:Q vm_id:I type:I value:I*4 reserved:Q*2")


class PrimeHandle(ctypes.Structure):
    """struct drm_prime_handle."""

    _fields_ = layout("handle:I flags:I fd:I")


def read_write(number, struct):
    """DRM_IOWR."""
    return 3 << 30 | ctypes.sizeof(struct) << 16 | ord("d") << 8 | number


def write_only(number, struct):
    """DRM_IOW."""
    return 1 << 30 | ctypes.sizeof(struct) << 16 | ord("d") << 8 | number


# Each struct is the argument of one request.
REQUESTS = {
    GemClose: write_only(0x09, GemClose),
    DeviceQuery: read_write(0x40, DeviceQuery),
    GemCreate: read_write(0x41, GemCreate),
    GemMmapOffset: read_write(0x42, GemMmapOffset),
    VmCreate: read_write(0x43, VmCreate),
    VmBind: write_only(0x45, VmBind),
    ExecQueueCreate: read_write(0x46, ExecQueueCreate),
    Exec: write_only(0x49, Exec),
    WaitUserFence: read_write(0x4A, WaitUserFence),
    Madvise: write_only(0x4C, Madvise),
    PrimeHandle: read_write(0x2D, PrimeHandle),  # PRIME_HANDLE_TO_FD
    SyncobjCreate: read_write(0xBF, SyncobjCreate),
    SyncobjWait: read_write(0xC3, SyncobjWait),
    SyncobjArray: read_write(0xC4, SyncobjArray),  # SYNCOBJ_RESET
}


class Device:
    """An open device with an address space and a queue of the copy engine."""

    QUERY_MEM_REGIONS, QUERY_CONFIG = 1, 2
    SCRATCH_PAGE = 1 << 0
    ENGINE_CLASS_COPY = 1
    SYNC_SIGNAL = 1 << 0
    WAIT_FOR_SUBMIT = 1 << 1
    WAIT_SECONDS = 20

    def __init__(self):
        self.fd = os.open(NODE, os.O_RDWR | os.O_CLOEXEC)
        self.device_id = self.query(self.QUERY_CONFIG, U64)[1] & 0xFFFF
        # struct drm_xe_query_mem_regions: the number of regions. System memory is the first.
        self.has_local_memory = self.query(self.QUERY_MEM_REGIONS, U32)[0] > 1
        self.next_address = 1 << 24
        self.vm = self.call(VmCreate(flags=self.SCRATCH_PAGE)).vm_id
        self.syncobj = U32(self.call(SyncobjCreate()).handle)
        self.syncs = Sync(flags=self.SYNC_SIGNAL, handle=self.syncobj.value)
        copy_engine = EngineClassInstance(engine_class=self.ENGINE_CLASS_COPY)
        self.queue = self.call(
            ExecQueueCreate(width=1, num_placements=1, vm_id=self.vm, instances=ctypes.addressof(copy_engine))
        ).exec_queue_id

    def call(self, argument):
        """Makes the request that the struct is for, and returns the struct. An error names the struct."""
        try:
            fcntl.ioctl(self.fd, REQUESTS[type(argument)], argument)
        except OSError as error:
            raise OSError(error.errno, f"{type(argument).__name__}: {error.strerror}") from error
        return argument

    def query(self, number, item):
        """Returns what DRM_IOCTL_XE_DEVICE_QUERY gives, as an array of that type."""
        size = self.call(DeviceQuery(query=number)).size
        data = (item * (size // ctypes.sizeof(item)))()
        self.call(DeviceQuery(query=number, size=size, data=ctypes.addressof(data)))
        return data

    def wait(self):
        """Waits for the syncobj, and resets it."""
        handles = ctypes.addressof(self.syncobj)
        until = time.monotonic_ns() + self.WAIT_SECONDS * 10**9
        self.call(
            SyncobjWait(handles=handles, count_handles=1, timeout_nsec=until, flags=self.WAIT_FOR_SUBMIT)
        )
        self.call(SyncobjArray(handles=handles, count_handles=1))

    def bind(self, item, pat_index):
        """Binds an object at an unused address and returns the address."""
        address = self.next_address
        operation = VmBindOp(obj=item.handle, pat_index=pat_index, range=SIZE, addr=address)
        syncs = ctypes.addressof(self.syncs)
        self.call(VmBind(vm_id=self.vm, num_binds=1, bind=operation, num_syncs=1, syncs=syncs))
        self.wait()
        self.next_address += SIZE
        return address

    def run(self, batch):
        """Runs the batch at an address to its end."""
        syncs = ctypes.addressof(self.syncs)
        self.call(Exec(exec_queue_id=self.queue, num_syncs=1, syncs=syncs, address=batch, num_batch_buffer=1))
        self.wait()


class Object:
    """A GEM object of SIZE bytes and its mapping."""

    def __init__(self, device, caching, placement=SYSTEM):
        self.device = device
        self.handle = device.call(GemCreate(size=SIZE, placement=placement, cpu_caching=caching)).handle
        offset = device.call(GemMmapOffset(handle=self.handle)).offset
        self.memory = mmap.mmap(device.fd, SIZE, mmap.MAP_SHARED, offset=offset)

    def fill(self, value):
        """Stores the byte everywhere."""
        self.memory[:] = value * SIZE

    def close(self):
        """Unmaps and closes the object."""
        self.memory.close()
        self.device.call(GemClose(handle=self.handle))
