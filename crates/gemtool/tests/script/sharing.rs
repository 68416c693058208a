//! dma-bufs: brackets of CPU accesses.

use super::{fails, holds, stops};

const EXPORTED: &str = "a = alloc 4KiB caching=none map=wb\nfd = export a\n";

#[test]
fn a_bracket_of_dma_buf_accesses_flushes_and_invalidates() {
    let stored = "write a all fill=0x5a raw\n";
    let seen = "submit a\nexpect gpu-reads a all 0x5a";
    let bracket = |access: &str| format!("{EXPORTED}sync fd start {access}\n{stored}sync fd end {access}\n");
    holds(&["glk", "chv", "tgl"], &format!("{}{seen}", bracket("write")));
    holds(&["glk"], &format!("{}expect kernel-flushes a == 1 rule=leave-cpu-write", bracket("write")));
    // The kernel believes the direction, and that the access has ended.
    fails("glk", &format!("{}{seen}", bracket("read")), "0x00");
    fails("glk", &format!("{EXPORTED}sync fd start write\n{stored}expect gpu-reads a all 0x5a"), "0x00");
    fails("glk", &format!("{EXPORTED}{stored}{seen}"), "0x00");

    let drawn = "sync fd start read\nread a all raw\nsync fd end read\nsubmit a access=write\ngpu-write a all fill=0x77\n";
    let read = "read a all expect=0x77 raw";
    holds(&["glk", "tgl"], &format!("{EXPORTED}{drawn}sync fd start read\n{read}\nsync fd end read"));
    fails("glk", &format!("{EXPORTED}{drawn}{read}"), "0x00");
}

#[test]
fn a_dma_buf_that_is_closed_has_no_accesses() {
    let closed = format!("{EXPORTED}close fd\n");
    for edge in ["start", "end"] {
        holds(
            &["glk", "dg2"],
            &format!("{}expect error EBADF: sync fd {edge} read", closed.replace(" caching=none map=wb", "")),
        );
    }
    stops("glk", &format!("{closed}sync fd start read"), Some("EBADF"), "DMA_BUF_IOCTL_SYNC");
    fails("glk", &format!("{EXPORTED}expect error EBADF: sync fd start read"), "no error");
}
