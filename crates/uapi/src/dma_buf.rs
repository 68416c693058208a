//! `<linux/dma-buf.h>`.

use super::{requests, structs, values};

structs! {
    /// The argument of DMA_BUF_IOCTL_SYNC: begins or ends a CPU access through a dma-buf's mapping.
    dma_buf_sync: 8 {
        /// `DMA_BUF_SYNC_*`: a direction, and `START` or `END`.
        flags @ 0: u64,
    }

    /// The argument of DMA_BUF_IOCTL_EXPORT_SYNC_FILE.
    dma_buf_export_sync_file: 8 {
        /// `DMA_BUF_SYNC_*`: what the fence will be waited for.
        flags @ 0: u32,
        /// Back: the fence.
        fd @ 4: i32,
    }

    /// The argument of DMA_BUF_IOCTL_IMPORT_SYNC_FILE.
    dma_buf_import_sync_file: 8 {
        /// `DMA_BUF_SYNC_*`: what the fence stands for.
        flags @ 0: u32,
        /// The fence.
        fd @ 4: i32,
    }
}

values! {
    /// The CPU reads.
    DMA_BUF_SYNC_READ: u64 = 1 << 0;
    /// The CPU writes.
    DMA_BUF_SYNC_WRITE: u64 = 1 << 1;
    /// The CPU reads and writes.
    DMA_BUF_SYNC_RW: u64 = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_WRITE;
    /// The access begins.
    DMA_BUF_SYNC_START: u64 = 0;
    /// The access ends.
    DMA_BUF_SYNC_END: u64 = 1 << 2;
    /// Bytes of a dma-buf's name at most, its final 0 included.
    DMA_BUF_NAME_LEN: u32 = 32;
}

requests! {
    /// Begins or ends a CPU access through a dma-buf's mapping.
    DMA_BUF_IOCTL_SYNC = IOW(b'b', 0x00, dma_buf_sync) == 0x4008_6200;
    /// Names a dma-buf; the argument is the name's address itself.
    DMA_BUF_SET_NAME_A = IOW(b'b', 0x01, u32) == 0x4004_6201;
    /// Names a dma-buf; the argument is the name's address itself.
    DMA_BUF_SET_NAME_B = IOW(b'b', 0x01, u64) == 0x4008_6201;
    /// Makes a fence of what the dma-buf is waiting for.
    DMA_BUF_IOCTL_EXPORT_SYNC_FILE = IOWR(b'b', 0x02, dma_buf_export_sync_file) == 0xc008_6202;
    /// Makes users of the dma-buf wait for a fence.
    DMA_BUF_IOCTL_IMPORT_SYNC_FILE = IOW(b'b', 0x03, dma_buf_import_sync_file) == 0x4008_6203;
}
