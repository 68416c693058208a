//! Memory from elsewhere and for others: dma-bufs, and objects of the caller's memory.

use gem_coherency_uapi::dma_buf::{
    DMA_BUF_IOCTL_EXPORT_SYNC_FILE, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, DMA_BUF_IOCTL_SYNC, DMA_BUF_SET_NAME_B,
};
use gem_coherency_uapi::drm::{DRM_IOCTL_PRIME_FD_TO_HANDLE, DRM_IOCTL_PRIME_HANDLE_TO_FD};
use gem_coherency_uapi::i915::DRM_IOCTL_I915_GEM_USERPTR;

use super::Values::{Fd, Handle, Of};
use super::{Files, Kind, Out, Shape, f, ioctl, out, plain};
use crate::processes::arena::{DATA, HOLE, USER, USER_LEN};

const PAGE: u64 = 4096;

pub const SHAPES: &[Shape] = &[
    ioctl(
        "HANDLE_TO_FD",
        DRM_IOCTL_PRIME_HANDLE_TO_FD.code,
        2,
        &[
            f("handle", 0, 4, Handle),
            f("flags", 4, 4, Of(&[0o2000002, 0, 2, 0o2000000, 1, 4, 0xffff_ffff])),
            out("fd", 8, 4, Of(&[0, 5]), Out::Fd),
        ],
    ),
    ioctl(
        "FD_TO_HANDLE",
        DRM_IOCTL_PRIME_FD_TO_HANDLE.code,
        3,
        &[f("handle", 0, 4, Of(&[0, 7])), f("flags", 4, 4, Of(&[0, 0xffff_ffff])), f("fd", 8, 4, Fd)],
    ),
    plain(
        "SYNC",
        Kind::DmaBuf(DMA_BUF_IOCTL_SYNC.code),
        3,
        &[f("dma_buf", 0, 0, Fd), f("flags", 0, 8, Of(&[1, 2, 3, 5, 6, 7, 4, 0, 8, 9, 1 << 32, u64::MAX]))],
    ),
    plain(
        "SET_NAME",
        Kind::DmaBuf(DMA_BUF_SET_NAME_B.code),
        1,
        &[f("dma_buf", 0, 0, Fd), f("first", 0, 4, Of(&[0x6162, 0x61626364])), f("next", 4, 4, Of(&[0, 1]))],
    ),
    plain(
        "EXPORT_SYNC_FILE",
        Kind::DmaBuf(DMA_BUF_IOCTL_EXPORT_SYNC_FILE.code),
        1,
        &[
            f("dma_buf", 0, 0, Fd),
            f("flags", 0, 4, Of(&[1, 2, 3, 0, 4, 5])),
            out("fd", 4, 4, Of(&[0, 5]), Out::Fd),
        ],
    ),
    plain(
        "IMPORT_SYNC_FILE",
        Kind::DmaBuf(DMA_BUF_IOCTL_IMPORT_SYNC_FILE.code),
        1,
        &[f("dma_buf", 0, 0, Fd), f("flags", 0, 4, Of(&[1, 2, 3, 0, 4, 5])), f("fd", 4, 4, Fd)],
    ),
    plain(
        "mmap_dma_buf",
        Kind::MmapDmaBuf,
        3,
        &[
            f("dma_buf", 0, 0, Fd),
            f("offset", 0, 0, Of(&[0, 4096, 8192, 12288, 100, !4095, !8191])),
            f("len", 0, 0, Of(&[12288, 4096, 100, 0, 16384, 1 << 40, 1 << 47, u64::MAX])),
            f("pages", 0, 0, Of(&[0, 1, 2, 3])),
        ],
    ),
    plain("seek", Kind::Seek, 1, &[f("fd", 0, 0, Fd)]),
    Shape { files: Files::First, ..plain("close", Kind::Close, 1, &[f("fd", 0, 0, Fd)]) },
    ioctl(
        "GEM_USERPTR",
        DRM_IOCTL_I915_GEM_USERPTR.code,
        3,
        &[
            f(
                "user_ptr",
                0,
                8,
                Of(&[
                    USER,
                    USER + PAGE,
                    USER + USER_LEN,
                    USER + USER_LEN - PAGE,
                    USER + 100,
                    HOLE - PAGE,
                    HOLE,
                    DATA,
                    0,
                    0x7fff_ffff_e000,
                    0x7fff_ffff_f000,
                    1 << 47,
                    0xffff_8000_0000_0000,
                    !4095,
                ]),
            ),
            f(
                "user_size",
                8,
                8,
                Of(&[
                    3 * PAGE,
                    PAGE,
                    2 * PAGE,
                    4 * PAGE,
                    5 * PAGE,
                    6 * PAGE,
                    100,
                    0,
                    1 << 43,
                    1 << 44,
                    !4095,
                ]),
            ),
            f("flags", 16, 4, Of(&[0, 1, 2, 3, 0x8000_0000, 0x8000_0001, 4, 0xffff_ffff])),
            f("handle", 20, 4, Of(&[0, 7])),
        ],
    ),
];
