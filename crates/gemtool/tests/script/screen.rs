//! Drawing to a BO while a screen shows it: a report of front-buffer rendering without DIRTYFB, as a script.

use super::{fails, holds, stops};

const SHOWN: &str = "a = alloc 3MiB map=wb\nwrite a 0..4096 fill=0x11\nshow a\n";
/// Stores that only SET_DOMAIN tells the kernel about.
const DRAWN: &str = "domain a cpu write\nwrite a 0..64 fill=0x5a raw\n";
const DEVICES: [&str; 5] =
    ["tgl,display=on", "glk,display=on", "hsw,display=on", "chv", "jsl,display=on,kernel=5.15"];

#[test]
fn dirtyfb_and_sw_finish_flush_what_was_drawn_to_the_screen() {
    holds(&DEVICES, &format!("{SHOWN}expect verdict a flush\nexpect display-reads a 0..4096 0x11"));
    for call in ["dirtyfb", "sw-finish"] {
        holds(&DEVICES, &format!("{SHOWN}{DRAWN}{call} a\nexpect display-reads a 0..64 0x5a"));
        let flush = "expect kernel-flushes a == 1 rule=scanout-flush";
        holds(&DEVICES, &format!("{SHOWN}{DRAWN}{call} a\n{flush}"));
        // Without SET_DOMAIN the kernel does not know of the stores.
        let stored = "write a 0..64 fill=0x5a raw\n";
        fails(
            "tgl,display=on",
            &format!("{SHOWN}{stored}{call} a\nexpect display-reads a 0..64 0x5a"),
            "0x1111",
        );
    }
    for device in DEVICES {
        fails(device, &format!("{SHOWN}{DRAWN}expect display-reads a 0..64 0x5a"), "0x1111");
    }
    // SW_FINISH flushes framebuffers alone.
    let text =
        "a = alloc 3MiB caching=none map=wb\ndomain a cpu write\nsw-finish a\nexpect kernel-flushes a >= 1";
    fails("glk", text, "0");
}

#[test]
fn showing_another_bo_is_a_flip_and_takes_the_first_off() {
    let two = format!("{SHOWN}b = alloc 3MiB map=wb\nwrite b 0..4096 fill=0x22\nshow b\n");
    holds(&DEVICES, &format!("{two}expect verdict b flush\nexpect display-reads b 0..4096 0x22\nclose a"));
    stops("tgl,display=on", &format!("{two}close b"), Some("EBUSY"), "on screen");
    holds(&DEVICES, &format!("{two}off-screen b\nclose b\nexpect error ENOENT: sw-finish b"));
    // From 6.7 on DIRTYFB is for what a plane shows.
    let drawn = |count| format!("{two}{DRAWN}dirtyfb a\nexpect kernel-flushes a == {count}");
    holds(&["tgl,display=on"], &drawn(0));
    holds(&["tgl,display=on,kernel=6.1"], &drawn(1));
    fails("tgl,display=on", &drawn(1), "0");
}

#[test]
fn what_cannot_be_shown_is_refused_as_by_the_driver() {
    holds(&["tgl"], "a = alloc 3MiB\nexpect error EOPNOTSUPP: show a");
    stops("tgl", "a = alloc 3MiB\nshow a", Some("EOPNOTSUPP"), "a software device has one with display=on");
    holds(&["tgl,display=on"], "a = alloc 4KiB\nexpect error EINVAL: show a");
    holds(&["dg2,display=on"], "a = alloc 3MiB\nexpect error EINVAL: show a");
    fails("tgl,display=on", "a = alloc 3MiB\nexpect error EINVAL: show a", "no error");
    stops("tgl,display=on", "a = alloc 3MiB\ndirtyfb a", None, "'a' has no framebuffer: 'show a' makes one");
    stops("tgl,display=on", &format!("{SHOWN}off-screen a\ndirtyfb a"), None, "has no framebuffer");
    stops("tgl,display=on", &format!("{SHOWN}off-screen a\noff-screen a"), None, "'a' is not on screen");
}
