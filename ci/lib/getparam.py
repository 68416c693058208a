"""Asks a device for a few parameters directly, without this project's library: one line "NAME VALUE" each."""

import ctypes
import fcntl
import glob
import os

GETPARAM = 0xC0106446
PARAMS = {
    "CHIPSET_ID": 4,
    "HAS_LLC": 17,
    "HAS_WT": 27,
    "MMAP_VERSION": 30,
    "REVISION": 32,
    "MMAP_GTT_VERSION": 40,
    "MMAP_GTT_COHERENT": 52,
}


class Getparam(ctypes.Structure):
    """struct drm_i915_getparam."""

    _fields_ = [("param", ctypes.c_int32), ("value", ctypes.c_uint64)]


def main():
    """Prints the parameters of the first render node."""
    fd = os.open(sorted(glob.glob("/dev/dri/renderD*"))[0], os.O_RDWR | os.O_CLOEXEC)
    for name, number in PARAMS.items():
        value = ctypes.c_int32()
        arguments = Getparam(number, ctypes.addressof(value))
        try:
            fcntl.ioctl(fd, GETPARAM, arguments)
            print(name, value.value)
        except OSError as error:
            print(name, f"errno-{error.errno}")


main()
