//! Objects that the script creates: by CREATE_EXT with a PAT index, and of its own pages by USERPTR.

use super::{fails, holds, stops};

#[test]
fn a_pat_index_is_the_level_for_good() {
    // Meteor Lake's table: the GPU looks the CPU's caches up with 3 and 4 alone.
    let stored = "write a all fill=0x5a\nsubmit a\nexpect gpu-reads a all 0x5a\nexpect verdict a";
    for (index, level, verdict) in
        [(0, "wt", "flush"), (2, "none", "flush"), (3, "llc", "none"), (4, "llc", "none")]
    {
        let text = format!("a = alloc 4KiB pat={index} map=wb\n{stored} {verdict}\nexpect level a {level}");
        holds(&["mtl"], &text);
        let error = format!("a = alloc 4KiB pat={index}\nexpect error EOPNOTSUPP: set-caching a none");
        holds(&["mtl"], &error);
    }
    // The first submission flushes the zeroes of the new object.
    let raw = "submit a\nwrite a all fill=0x5a raw\nsubmit a\nexpect gpu-reads a all 0x5a";
    holds(&["mtl"], &format!("a = alloc 4KiB pat=3 map=wb\n{raw}"));
    fails("mtl", &format!("a = alloc 4KiB pat=2 map=wb\n{raw}"), "0x00");
}

#[test]
fn a_pat_index_is_refused_as_by_the_driver() {
    holds(&["mtl"], "expect error EINVAL: alloc 4KiB pat=5\nexpect error EINVAL: alloc 0 pat=0");
    holds(&["mtl,kernel=6.4"], "expect error EINVAL: alloc 4KiB pat=0");
    holds(&["tgl", "glk", "dg2"], "expect error ENODEV: alloc 4KiB pat=0");
    fails("mtl", "expect error EINVAL: alloc 4KiB pat=4", "no error");
    stops("tgl", "a = alloc 4KiB pat=0", Some("ENODEV"), "GEM_CREATE_EXT");
}

#[test]
fn an_object_of_the_script_is_closed_once() {
    let text = "a = alloc 4KiB pat=4\nfd = export a\nb = import fd\nexpect same a b\n";
    holds(&["mtl"], text);
    holds(&["mtl"], &format!("{text}close b\nexpect error ENOENT: close a"));
    fails("mtl", &format!("{text}close b\nexpect error EBADF: close a"), "ENOENT");
}

#[test]
fn the_gpu_accesses_the_processs_own_pages() {
    let text = "a = userptr 8KiB\nwrite a all fill=0x5a raw\nsubmit a access=write\n";
    for device in ["tgl", "glk", "hsw", "mtl", "glk,kernel=5.15"] {
        holds(
            &[device],
            &format!("{text}expect gpu-reads a all 0x5a\nexpect level a llc\nexpect caching a cached"),
        );
        holds(&[device], &format!("{text}gpu-write a 0..64 fill=0x77\nread a 0..64 expect=0x77"));
        holds(&[device], &format!("{text}gpu-write a 0..64 fill=0x77\nread a 0..64 expect=0x77 raw=wb"));
    }
    // Around the LLC the GPU reads memory, and the library does not know of raw stores.
    let around = "submit a mocs=bypass-llc\nexpect gpu-reads a 0..64 0x11 mocs=bypass-llc";
    let text = "a = userptr 8KiB\nsubmit a mocs=bypass-llc\nwrite a 0..64 fill=0x11";
    holds(&["jsl"], &format!("{text}\n{around}"));
    fails("jsl", &format!("{text} raw\n{around}"), "0x00");
}

#[test]
fn a_userptr_bo_is_refused_what_the_driver_refuses() {
    holds(&["glk"], "expect error EINVAL: userptr 0\nexpect error EINVAL: userptr 100");
    fails("glk", "expect error EINVAL: userptr 4096", "no error");
    holds(&["i965gm"], "expect error ENODEV: userptr 4KiB");
    stops("i965gm", "a = userptr 4KiB", Some("ENODEV"), "GEM_USERPTR");
    let refused = "a = userptr 4KiB\nexpect error ENXIO: set-caching a none\nexpect error EINVAL: export a\n\
                   expect error EINVAL: pread a all\nexpect error ENODEV: map a wc";
    holds(&["glk"], refused);
    fails("glk", "a = alloc 4KiB\nexpect error EINVAL: export a", "no error");
}
