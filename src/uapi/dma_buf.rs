//! `<linux/dma-buf.h>`.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::{requests, structs, values};

structs! {
    /// The argument of DMA_BUF_IOCTL_SYNC: begins or ends a CPU access through a dma-buf's mapping.
    dma_buf_sync: 8 {
        /// `DMA_BUF_SYNC_*`: a direction, and `START` or `END`.
        flags @ 0: u64,
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
}

requests! {
    /// Begins or ends a CPU access through a dma-buf's mapping.
    DMA_BUF_IOCTL_SYNC = IOW(b'b', 0x00, dma_buf_sync) == 0x4008_6200;
}
