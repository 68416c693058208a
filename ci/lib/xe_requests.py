#!/usr/bin/env python3
"""Makes requests on a device of the xe driver, and compares each answer with that of the rules.

    xe_requests.py FILE [TWIN...]

FILE has a request in each line, with the errno and the check that the rules foresee (crates/policy/examples/xe_requests.rs). Where the driver
refuses, its log says which check failed (XE_IOCTL_DBG, drm.debug=2): its expression must be the one of that check. The registers of the PAT
table are those that the driver wrote (`pat` in debugfs). Prints a row for each kind of request, the differences, and 'N requests, N refused,
N checks named by the driver, N registers, N differences'. A TWIN is wrong on purpose: there must be a difference. Exit status 1: it is not so.
"""

import collections
import ctypes
import errno
import fcntl
import glob
import mmap
import os
import re
import subprocess
import sys

from xe_device import (
    LOCAL,
    SIZE,
    SYSTEM,
    WB,
    WC,
    GemClose,
    GemCreate,
    GemMmapOffset,
    Device,
    VmBind,
    VmBindOp,
    layout,
    read_write,
    write_only,
)

# What the driver's log says of the check that fails: a part of its expression, without blanks.
CHECKS = {
    "create-reserved": "args->reserved[0]||args->reserved[1]",
    "create-placement": "(args->placement&~xe->info.mem_region_mask)||!args->placement",
    "create-flags": "args->flags&~(DRM_XE_GEM_CREATE_FLAG_DEFER_BACKING|",
    "create-handle": "args->handle",
    "create-size": ("!args->size", "args->size&~PAGE_MASK", None),
    "compression-cannot-be-off": "GRAPHICS_VER(xe)<20",
    "visible-without-local": "!(bo_flags&XE_BO_FLAG_VRAM_MASK)",
    "caching-unknown": "!args->cpu_caching||args->cpu_caching>DRM_XE_GEM_CPU_CACHING_WC",
    "local-is-wc": "bo_flags&XE_BO_FLAG_VRAM_MASK&&args->cpu_caching!=DRM_XE_GEM_CPU_CACHING_WC",
    "scanout-is-wc": (
        "bo_flags&XE_BO_FLAG_FORCE_WC&&args->cpu_caching==DRM_XE_GEM_CPU_CACHING_WB",
        "bo_flags&XE_BO_FLAG_SCANOUT&&args->cpu_caching==DRM_XE_GEM_CPU_CACHING_WB",
    ),
    "map-reserved": "args->reserved[0]||args->reserved[1]",
    "map-flags": ("args->flags&~DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER", "args->flags"),
    "barrier-is-discrete": "!IS_DGFX(xe)",
    "barrier-has-no-handle": "args->handle",
    "no-such-handle": "!gem_obj",
    "mirror-needs-faults": "is_cpu_addr_mirror&&(!xe_vm_in_fault_mode(vm)",
    "pat-index-beyond": ("pat_index>=xe->pat.n_entries", "args->pat_index.val>=xe->pat.n_entries"),
    "pat-index-reserved": "!coh_mode",
    "bind-operation": "op>DRM_XE_VM_BIND_OP_PREFETCH",
    "bind-flags": "flags&~SUPPORTED_FLAGS",
    "nothing-has-no-object": (
        "obj&&(is_null||is_cpu_addr_mirror)",
        "obj_offset&&(is_null||is_cpu_addr_mirror)",
        "obj&&is_null",
        "obj_offset&&is_null",
    ),
    "only-of-map": ("op!=DRM_XE_VM_BIND_OP_MAP&&(is_decompress||is_null", "op!=DRM_XE_VM_BIND_OP_MAP&&is_null"),
    "decompress-compressed": "is_decompress&&xe_pat_index_get_comp_en",
    "map-needs-object": "!obj&&op==DRM_XE_VM_BIND_OP_MAP&&!is_null",
    "unmap-all-of-object": (
        "!obj&&op==DRM_XE_VM_BIND_OP_UNMAP_ALL",
        "addr&&op==DRM_XE_VM_BIND_OP_UNMAP_ALL",
        "range&&op==DRM_XE_VM_BIND_OP_UNMAP_ALL",
    ),
    "userptr-has-no-object": "obj&&op==DRM_XE_VM_BIND_OP_MAP_USERPTR",
    "userptr-not-snooped": (
        "coh_mode==XE_COH_NONE&&op==DRM_XE_VM_BIND_OP_MAP_USERPTR",
        "xe_vma_is_cpu_addr_mirror(vma)||xe_vma_is_userptr(vma)",
    ),
    "userptr-compressed": "comp_en&&op==DRM_XE_VM_BIND_OP_MAP_USERPTR",
    "prefetch-has-no-object": "obj&&op==DRM_XE_VM_BIND_OP_PREFETCH",
    "prefetch-region": ("prefetch_region&&op!=DRM_XE_VM_BIND_OP_PREFETCH", "xe->info.mem_region_mask)*8"),
    "unmap-has-no-object": "obj&&op==DRM_XE_VM_BIND_OP_UNMAP",
    "autoreset-needs-mirror": "(flags&DRM_XE_VM_BIND_FLAG_MADVISE_AUTORESET)&&",
    "bind-unaligned": (
        "obj_offset&~PAGE_MASK",
        "addr&~PAGE_MASK",
        "range&~PAGE_MASK",
        "!range&&op!=DRM_XE_VM_BIND_OP_UNMAP_ALL",
    ),
    "cannot-decompress": ("!xe_device_has_flat_ccs(xe)", "GRAPHICS_VER(xe)<20", "!IS_DGFX(xe)"),
    "bind-beyond-space": ("range>vm->size", "addr>vm->size-range"),
    "bind-not-compressible": "(bo->flags&XE_BO_FLAG_NO_COMPRESSION)&&",
    "bind-beyond-object": ("range>xe_bo_size(bo)", "obj_offset>xe_bo_size(bo)-range", "range>bo->size", "obj_offset>bo->size-range"),
    "bind-local-page": ("obj_offset&XE_64K_PAGE_MASK", "addr&XE_64K_PAGE_MASK", "range&XE_64K_PAGE_MASK"),
    "cached-not-snooped": (
        "coh_mode==XE_COH_NONE&&bo->cpu_caching==DRM_XE_GEM_CPU_CACHING_WB",
        "bo->cpu_caching==DRM_XE_GEM_CPU_CACHING_WB",
    ),
    "import-not-snooped": ("coh_mode==XE_COH_NONE", "!bo->cpu_caching"),
    "import-compressed": "bo->ttm.base.import_attach&&comp_en",
    # drm_ioctl knows no such number.
    "madvise-unknown": None,
    "madvise-unaligned": ("!IS_ALIGNED(args->start,SZ_4K)", "!IS_ALIGNED(args->range,SZ_4K)", "args->range<SZ_4K"),
    "madvise-reserved": "args->reserved[0]||args->reserved[1]",
    "madvise-beyond-space": None,
    "userptr-in-part": None,
}

MAP, UNMAP, MAP_USERPTR = 0, 1, 2
SCANOUT, NO_COMPRESSION = 2, 8
# Flags of a mapping without memory: NULL, CPU_ADDR_MIRROR.
NOTHING = 1 << 2 | 1 << 5
ADDRESS = 1 << 32
O_CLOEXEC = os.O_CLOEXEC
# Names as the rules print them: errno.errorcode has ENOTSUP for the same number.
NAMES = {**errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP"}


class Madvise(ctypes.Structure):
    """struct drm_xe_madvise with a PAT index."""

    _fields_ = layout("extensions:Q start:Q range:Q vm_id:I type:I pat_index:I pad:I attribute_reserved:Q reserved:Q*2")


class PrimeHandle(ctypes.Structure):
    """struct drm_prime_handle."""

    _fields_ = layout("handle:I flags:I fd:I")


class CreateDumb(ctypes.Structure):
    """struct drm_mode_create_dumb."""

    _fields_ = layout("height:I width:I bpp:I flags:I handle:I pitch:I size:Q")


MADVISE = write_only(0x4C, Madvise)
MADVISE_PAT = 2
HANDLE_TO_FD, FD_TO_HANDLE = read_write(0x2D, PrimeHandle), read_write(0x2E, PrimeHandle)
CREATE_DUMB = read_write(0xB2, CreateDumb)


class Log:
    """The kernel's log, as far as it names checks of xe that fail."""

    def __init__(self):
        with open("/sys/module/drm/parameters/debug", "w", encoding="ascii") as debug:
            debug.write("2")
        self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        self.skip()

    def skip(self):
        """Goes to the end."""
        os.lseek(self.file, 0, os.SEEK_END)

    def check(self):
        """Returns the expression of the first check that failed since `skip`, without blanks, or None."""
        found = None
        while True:
            try:
                text = os.read(self.file, 8192).decode(errors="replace")
            except BlockingIOError:
                return found
            except BrokenPipeError:
                continue
            _, _, failed = text.partition("Ioctl argument check failed at ")
            if failed and found is None:
                expression = failed.split("\n")[0].split(": ", 1)[1]
                found = "".join(expression.split())


def export(device_fd, handle):
    """Returns a dma-buf of an object."""
    prime = PrimeHandle(handle=handle, flags=O_CLOEXEC | os.O_RDWR)
    fcntl.ioctl(device_fd, HANDLE_TO_FD, prime)
    return prime.fd


def import_object(device, fd):
    """Returns the handle of a dma-buf."""
    prime = PrimeHandle(fd=fd)
    fcntl.ioctl(device.fd, FD_TO_HANDLE, prime)
    return prime.handle


def vgem_buffer():
    """Returns a dma-buf of vgem."""
    for node in sorted(glob.glob("/dev/dri/card*")):
        driver = os.path.realpath(f"/sys/class/drm/{os.path.basename(node)}/device/driver")
        if os.path.basename(driver) != "xe":
            fd = os.open(node, os.O_RDWR | O_CLOEXEC)
            dumb = CreateDumb(height=16, width=1024, bpp=32)
            fcntl.ioctl(fd, CREATE_DUMB, dumb)
            return export(fd, dumb.handle)
    sys.exit("no device of another driver")


class Requests:
    """Makes the requests of a file."""

    def __init__(self, device):
        self.device = device
        other = Device()
        self.again = export(other.fd, other.call(GemCreate(size=SIZE, placement=SYSTEM, cpu_caching=WB)).handle)
        self.objects = {}
        self.memory = mmap.mmap(-1, SIZE)
        self.memory[:] = bytes(SIZE)
        self.memory_at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.other = other

    def handle(self, name):
        """Returns the handle of a named object."""
        if name in ("none", "nothing"):
            return 0
        if name not in self.objects:
            self.objects[name] = self.make(name)
        return self.objects[name]

    def make(self, name):
        """Returns the handle of a new object of this name."""
        if name == "import":
            return import_object(self.device, vgem_buffer())
        if name == "again":
            return import_object(self.device, self.again)
        placement = {"local": LOCAL, "both": SYSTEM | LOCAL}.get(name, SYSTEM)
        flags = {"scanout": SCANOUT, "plain": NO_COMPRESSION}.get(name, 0)
        caching = WB if name == "wb" else WC
        return self.device.call(GemCreate(size=SIZE, placement=placement, flags=flags, cpu_caching=caching)).handle

    def create(self, field):
        """GEM_CREATE."""
        argument = GemCreate(
            size=field["size"],
            placement=field["placement"],
            flags=field["flags"],
            cpu_caching=field["caching"],
            handle=field["handle"],
        )
        argument.reserved[1] = field["reserved"]
        self.device.call(GemClose(handle=self.device.call(argument).handle))

    def offset(self, field):
        """GEM_MMAP_OFFSET."""
        argument = GemMmapOffset(handle=self.handle(field["object"]), flags=field["flags"])
        argument.reserved[0] = field["reserved"]
        self.device.call(argument)

    def bind_operation(self, operation):
        """VM_BIND with one operation, and waits for it."""
        device = self.device
        device.call(
            VmBind(vm_id=device.vm, num_binds=1, bind=operation, num_syncs=1, syncs=ctypes.addressof(device.syncs))
        )
        device.wait()

    def unbind(self, address):
        """Unbinds what `bind` bound."""
        self.bind_operation(VmBindOp(op=UNMAP, addr=address, range=SIZE))

    def bind(self, field):
        """VM_BIND."""
        operation = VmBindOp(
            obj=self.handle(field["object"]),
            pat_index=field["pat"],
            obj_offset=field["offset"] + (self.memory_at if field["op"] == MAP_USERPTR and not field["flags"] & NOTHING else 0),
            range=field["range"],
            addr=field["address"],
            op=field["op"],
            flags=field["flags"],
            prefetch_mem_region_instance=field["region"],
        )
        self.bind_operation(operation)
        if field["op"] in (MAP, MAP_USERPTR):
            self.unbind(field["address"])

    def advise(self, field):
        """MADVISE of a PAT index, with the object bound by one that snoops."""
        name = field["object"]
        snooped = self.device.snooped
        bound = name != "nothing"
        if name == "userptr":
            self.bind_operation(
                VmBindOp(op=MAP_USERPTR, obj_offset=self.memory_at, range=SIZE, addr=ADDRESS, pat_index=snooped)
            )
        elif bound:
            self.bind_operation(VmBindOp(obj=self.handle(name), range=SIZE, addr=ADDRESS, pat_index=snooped))
        argument = Madvise(
            start=field["start"], range=field["range"], vm_id=self.device.vm, type=MADVISE_PAT, pat_index=field["pat"]
        )
        argument.reserved[1] = field["reserved"]
        self.device.log.skip()
        try:
            fcntl.ioctl(self.device.fd, MADVISE, argument)
        finally:
            self.device.noticed = self.device.log.check()
            if bound:
                self.unbind(ADDRESS)


def is_named(rule, expression):
    """Whether the driver's expression is that of the rule's check; None: the driver names none, as foreseen."""
    parts = CHECKS[rule] if isinstance(CHECKS[rule], tuple) else (CHECKS[rule],)
    if expression is None:
        return None if None in parts else False
    return any(part is not None and part in expression for part in parts)


def registers():
    """Returns the registers of the PAT table by index."""
    folder = "/sys/kernel/debug"
    if not os.path.exists(f"{folder}/dri"):
        subprocess.run(["mount", "-t", "debugfs", "debugfs", folder], check=True)
    (file,) = {os.path.realpath(path) for path in glob.glob(f"{folder}/dri/*/gt0/pat")} or {None}
    with open(file, encoding="ascii") as table:
        found = re.findall(r"PAT\[ *(\d+)\].*\( *(?:0x)?([0-9a-f]+)\)", table.read())
    return {int(index): hex(int(value, 16)) for index, value in found}


def compare(requests, lines):
    """Makes the requests of the lines; returns the numbers by kind, and the differences."""
    device = requests.device
    counts = collections.defaultdict(collections.Counter)
    differences = []
    written = registers()
    for line in lines:
        request, _, foreseen = line.partition(" => ")
        kind, *fields = request.split()
        field = dict(word.split("=") for word in fields)
        if kind == "register":
            counts[kind]["registers"] += 1
            value = written.get(int(field["pat"]))
            if value != foreseen:
                differences.append(f"{request}: {value}, and the rules say {foreseen}")
            continue
        field = {key: value if key == "object" else int(value) for key, value in field.items()}
        # Objects are made before the log is watched.
        if "object" in field and field["object"] != "userptr":
            requests.handle(field["object"])
        device.noticed = None
        device.log.skip()
        try:
            getattr(requests, kind)(field)
            answer = "ok"
        except OSError as error:
            answer = NAMES.get(error.errno, str(error.errno))
        wanted, _, rule = foreseen.partition(" ")
        counts[kind]["requests"] += 1
        if answer != wanted:
            differences.append(f"{request}: {answer}, and the rules say {foreseen}")
            continue
        if answer == "ok":
            continue
        counts[kind]["refused"] += 1
        noticed = device.noticed if kind == "advise" else device.log.check()
        named = is_named(rule, noticed)
        if named is False:
            differences.append(f"{request}: {answer} as foreseen, by the check '{noticed}', and the rules say {rule}")
        elif named:
            counts[kind]["named"] += 1
    return counts, differences


def read(path):
    """Returns the lines of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def main():
    """Makes the requests of the files; returns the exit status."""
    path, *twins = sys.argv[1:]
    lines = read(path)
    device = Device()
    device.log = Log()
    # The first index with which an object that the CPU caches may be bound.
    snooping = next(line for line in lines if line.startswith("bind op=0 flags=0 object=wb ") and line.endswith("=> ok"))
    device.snooped = int(snooping.split(" pat=")[1].split()[0])
    requests = Requests(device)
    counts, differences = compare(requests, lines)
    total = collections.Counter()
    for kind, count in counts.items():
        total.update(count)
        if kind == "register":
            continue
        print(f"{kind:8} {count['requests']:6} requests {count['refused']:6} refused {count['named']:6} named by the driver")
    for difference in differences[:40]:
        print(f"difference: {difference}")
    for twin in twins:
        _, noticed = compare(requests, read(twin))
        print(f"{os.path.basename(twin)}: {len(noticed)} differences")
        if not noticed:
            differences.append(f"{twin}: no difference")
    print(
        f"{total['requests']} requests, {total['refused']} refused, {total['named']} checks named by the driver, "
        f"{total['registers']} registers, {len(differences)} differences"
    )
    return 1 if differences else 0


sys.exit(main())
