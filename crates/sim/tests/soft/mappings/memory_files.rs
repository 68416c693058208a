//! Mappings that another process has: files of an object's bytes, of which the CPU's cache and memory have one each.

use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use gem_coherency::Errno;
use gem_coherency::cacheops::LineOp;
use gem_coherency::vocabulary::MocsClass;
use gem_coherency_sim::{PREVIOUS_OWNER, Place, Process, SimDevice};
use gem_coherency_uapi::i915::*;

use crate::mappings::client::{Client, Mapped, load};
use crate::requests::caller::{ARGS, HOLE};

#[test]
fn a_store_by_another_process_is_in_the_cache_until_it_is_flushed() {
    let mapped = Mapped::flushed("glk", I915_MMAP_OFFSET_WB);
    let (file, offset) = mapped.shown(mapped.address);
    let shell = Command::new("printf").arg("new!").stdout(Stdio::from(file.try_clone().unwrap())).status();
    assert!(shell.unwrap().success());
    assert_eq!(load(&file, offset), *b"new!");
    assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 0), [0; 4], "not flushed");
    mapped.maintain(LineOp::Flush);
    assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 0), *b"new!");
    assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 64), [0; 4], "the next line");
}

#[test]
fn a_store_is_coherent_with_an_llc_except_for_reads_around_it() {
    for (platform, around) in [("tgl", *b"new!"), ("jsl", [0; 4])] {
        let mapped = Mapped::flushed(platform, I915_MMAP_OFFSET_WB);
        let (file, offset) = mapped.shown(mapped.address + 4096);
        assert_eq!(offset, 4096);
        file.write_all_at(b"new!", offset).unwrap();
        assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 4096), *b"new!", "{platform}");
        assert_eq!(mapped.gpu_reads(MocsClass::BypassLlc, 4096), around, "{platform}");
        mapped.maintain(LineOp::WriteBack);
        assert_eq!(mapped.gpu_reads(MocsClass::BypassLlc, 4096), *b"new!", "{platform}");
    }
}

#[test]
fn a_load_by_another_process_is_old_until_the_line_is_invalidated() {
    let mapped = Mapped::flushed("glk", I915_MMAP_OFFSET_WB);
    let (file, offset) = mapped.shown(mapped.address);
    assert_eq!(load(&file, offset), [0; 4]);
    mapped.gpu_writes(0, b"gpu!");
    assert_eq!(load(&file, offset), [0; 4], "not invalidated");
    mapped.maintain(LineOp::Invalidate);
    assert_eq!(load(&file, offset), *b"gpu!");
}

#[test]
fn loads_that_drop_clean_lines_get_what_a_gpu_wrote_that_does_not_snoop() {
    // On mtl with the assumption that WC and UC accesses snoop, and without it, where mappings show memory; and through the cache.
    for (name, mode, load_gets, gpu_gets) in [
        ("mtl", I915_MMAP_OFFSET_WC, *b"gpu!", *b"new!"),
        ("mtl", I915_MMAP_OFFSET_UC, *b"gpu!", *b"new!"),
        ("mtl,drop=A11", I915_MMAP_OFFSET_WC, *b"gpu!", *b"new!"),
        ("mtl", I915_MMAP_OFFSET_WB, [0; 4], *b"gpu!"),
    ] {
        for pat in 0..3 {
            let mapped = Mapped::with_pat(name, pat, mode);
            let (file, offset) = mapped.shown(mapped.address);
            mapped.maintain(LineOp::Flush);
            assert_eq!(load(&file, offset), [0; 4]);
            mapped.gpu_writes(0, b"gpu!");
            assert_eq!(load(&file, offset), load_gets, "{name}, PAT {pat}, {mode}");
            file.write_all_at(b"new!", offset).unwrap();
            let mut by_request = [0; 4];
            mapped.caller.process.load(mapped.address, &mut by_request).unwrap();
            assert_eq!(by_request, *b"new!", "{name}, PAT {pat}, {mode}");
            assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 0), gpu_gets, "{name}, PAT {pat}, {mode}");
        }
    }
}

#[test]
fn write_back_and_write_combining_mappings_are_two_views_without_an_llc_and_one_with_it() {
    for (platform, shared) in [("glk", false), ("tgl", true)] {
        let mut mapped = Mapped::flushed(platform, I915_MMAP_OFFSET_WB);
        let around = mapped.map(I915_MMAP_OFFSET_WC);
        let ((cached, at), (memory, _)) = (mapped.shown(mapped.address), mapped.shown(around));
        cached.write_all_at(b"new!", at).unwrap();
        assert_eq!(load(&memory, at) == *b"new!", shared, "{platform}");
        mapped.maintain(LineOp::Flush);
        assert_eq!(load(&memory, at), *b"new!", "{platform}");
    }
}

#[test]
fn bytes_from_before_the_file_are_in_it() {
    let mut mapped = Mapped::flushed("glk", I915_MMAP_OFFSET_WB);
    mapped.caller.process.store(mapped.address + 100, b"old").unwrap();
    let (file, offset) = mapped.shown(mapped.address);
    assert_eq!(load(&file, offset + 100), *b"old\0");
    let mut back = [0; 4];
    file.write_all_at(b"now", offset + 100).unwrap();
    mapped.caller.process.load(mapped.address + 100, &mut back).unwrap();
    assert_eq!(back, *b"now\0");
}

#[test]
fn a_file_cannot_be_shortened_and_others_have_none() {
    let mapped = Mapped::flushed("glk", I915_MMAP_OFFSET_WB);
    let (file, _) = mapped.shown(mapped.address);
    assert!(file.set_len(4096).is_err(), "the device would get SIGBUS");
    assert_eq!(file.metadata().unwrap().len(), 8192);
    let process = &mapped.caller.process;
    assert_eq!(process.views(ARGS).unwrap_err(), Errno::EINVAL, "the process's own memory");
    assert_eq!(process.views(HOLE).unwrap_err(), Errno::EINVAL);
    assert_eq!(process.maintain(HOLE, 1, LineOp::Flush), Err(Errno::EFAULT));
    assert_eq!(process.maintain(u64::MAX, 2, LineOp::Flush), Err(Errno::EFAULT));
    assert_eq!(process.maintain(ARGS, 64, LineOp::Flush), Ok(()));
}

#[test]
fn every_mapping_of_an_object_has_the_same_files_and_shows_one_of_them() {
    for ((platform, around), mode) in
        [("glk", Place::Memory), ("tgl", Place::Cache)].into_iter().flat_map(|platform| {
            [I915_MMAP_OFFSET_WC, I915_MMAP_OFFSET_UC, I915_MMAP_OFFSET_GTT].map(|mode| (platform, mode))
        })
    {
        let mut mapped = Mapped::flushed(platform, I915_MMAP_OFFSET_WB);
        let wc = mapped.map(mode);
        let other = mapped.object(4096);
        let views = |address| mapped.caller.process.views(address).unwrap();
        let (first, second) = (views(mapped.address), views(wc + 4096));
        assert_eq!((first.shows, second.shows), (Place::Cache, around), "{platform}");
        assert_eq!((first.offset, second.offset), (0, 4096));
        assert_eq!(
            (first.size, first.evicts, second.evicts),
            (8192, false, around == Place::Cache),
            "{platform}"
        );
        assert_eq!(first.object, second.object);
        assert_eq!(first.object, mapped.soft().kernel_flushes().first().map_or(1, |flush| flush.object));
        assert_eq!(Client::inodes(first), Client::inodes(second), "{platform}");
        let third = views(other);
        assert_ne!(third.object, mapped.caller.process.views(mapped.address).unwrap().object);
        assert_eq!(third.size, 4096);
    }
}

#[test]
fn memory_of_no_device_has_views_and_a_number_of_its_own() {
    let mut process = Process::default();
    let mut views = || {
        let fd = process.foreign_dma_buf(4096, true).unwrap();
        let address = process.mmap(4096, gem_coherency_sim::Pages::ReadWrite, fd, 0).unwrap();
        process.views(address).unwrap()
    };
    let (one, other) = (views(), views());
    assert!(one.object >= 1 << 63 && one.object != other.object);
    assert_eq!((one.shows, one.evicts), (Place::Memory, false));
}

#[test]
fn a_coherent_machine_shows_the_cache_through_every_mapping() {
    let mut mapped = Mapped::flushed("glk,memory=coherent", I915_MMAP_OFFSET_WB);
    let wc = mapped.map(I915_MMAP_OFFSET_WC);
    let views = mapped.caller.process.views(wc).unwrap();
    assert_eq!((views.shows, views.evicts), (Place::Cache, false));
}

#[test]
fn the_state_of_each_line_is_in_the_files_when_sharing_begins() {
    let mut mapped = Mapped::new("glk", I915_MMAP_OFFSET_WB, 3 * 4096);
    let process = &mut mapped.caller.process;
    let (address, secret) = (mapped.address, &PREVIOUS_OWNER[..4]);
    // Page 0: a clean line 0 that is stale, a dirty line 1, an absent line 2 that was cached before. Page 1: the same bytes, dirty. Page 2: untouched.
    process.maintain(address, 2 * 4096, LineOp::Flush).unwrap();
    process.load(address, &mut [0; 4]).unwrap();
    process.load(address + 128, &mut [0; 4]).unwrap();
    mapped.gpu_writes(0, b"gpu!");
    mapped.gpu_writes(128, b"gone");
    let process = &mut mapped.caller.process;
    process.maintain(address + 128, 1, LineOp::Invalidate).unwrap();
    process.store(address + 64, b"new!").unwrap();
    process.store(address + 4096, &[0; 4]).unwrap();
    let client = Client::new(process.views(address).unwrap());
    let bytes = |offset| [&client.cached, &client.memory, &client.filled].map(|file| load(file, offset));
    assert_eq!(bytes(0), [[0; 4], *b"gpu!", [0; 4]], "stale");
    assert_eq!(bytes(64), [*b"new!", [0; 4], [0; 4]], "dirty");
    assert_eq!(bytes(128), [*b"gone"; 3], "absent");
    assert_eq!(bytes(4096), [[0; 4]; 3], "a silent store");
    // The kernel flushed the whole object before the GPU's write; on an LLC part it does not.
    assert_eq!(bytes(8192), [[0; 4]; 3], "flushed");
    let mapped = Mapped::new("tgl", I915_MMAP_OFFSET_WB, 4096);
    let client = Client::new(mapped.caller.process.views(mapped.address).unwrap());
    assert_eq!(load(&client.cached, 0), [0; 4]);
    assert_eq!(load(&client.memory, 0), secret, "fresh");
    assert_eq!(load(&client.filled, 0), secret, "so that it is dirty");
    client.maintain(0..1, LineOp::WriteBack);
    assert_eq!(load(&client.memory, 0), [0; 4]);
    assert_eq!(load(&client.memory, 64), secret, "the next line");
}

#[test]
fn a_wc_store_with_an_llc_is_in_memory_unless_a_wb_mapping_shows_the_same_bytes() {
    for (wb_too, display) in [(false, *b"new!"), (true, [0; 4])] {
        let mut mapped = Mapped::flushed("tgl", I915_MMAP_OFFSET_WC);
        let (file, at) = mapped.shown(mapped.address);
        file.write_all_at(b"one!", at + 64).unwrap();
        if wb_too {
            let wb = mapped.map(I915_MMAP_OFFSET_WB);
            mapped.shown(wb);
        }
        file.write_all_at(b"new!", at).unwrap();
        assert_eq!(mapped.display_reads(0), display);
        assert_eq!(mapped.display_reads(64), *b"one!", "before the WB mapping");
    }
}

#[test]
fn discarded_bytes_are_zeroes_in_every_file() {
    let mapped = Mapped::flushed("glk", I915_MMAP_OFFSET_WB);
    let client = Client::new(mapped.caller.process.views(mapped.address).unwrap());
    client.cached.write_all_at(b"new!", 4096).unwrap();
    let device: &SimDevice = mapped.soft();
    let purge = |advice| gem_coherency::backend::Drm::madvise(device, mapped.handle, advice).unwrap();
    device.shrink();
    assert_eq!(load(&client.cached, 4096), *b"new!", "it is needed");
    purge(gem_coherency::backend::Advice::DontNeed);
    device.shrink();
    assert_eq!([&client.cached, &client.memory, &client.filled].map(|file| load(file, 4096)), [[0; 4]; 3]);
}

#[test]
fn swapping_saves_the_bytes_of_the_cache() {
    let mapped = Mapped::flushed("glk", I915_MMAP_OFFSET_WB);
    let client = Client::new(mapped.caller.process.views(mapped.address).unwrap());
    mapped.gpu_writes(0, b"gpu!");
    client.cached.write_all_at(b"new!", 64).unwrap();
    mapped.soft().swap_out(mapped.handle).unwrap();
    let bytes = |offset| [&client.cached, &client.memory, &client.filled].map(|file| load(file, offset));
    assert_eq!(bytes(64), [*b"new!"; 3]);
    assert_eq!(bytes(0), [[0; 4]; 3], "stale: the CPU saves what it sees");
}

#[test]
fn what_an_agent_of_the_device_dirtied_stays_in_the_cache_where_only_wc_mappings_are_shared() {
    for flush in [false, true] {
        let mut mapped = Mapped::flushed("tgl", I915_MMAP_OFFSET_WB);
        mapped.caller.process.store(mapped.address, b"old!").unwrap();
        let wc = mapped.map(I915_MMAP_OFFSET_WC);
        let client = Client::new(mapped.caller.process.views(wc).unwrap());
        mapped.gpu_writes(64, b"gpu!");
        client.cached.write_all_at(b"wc!!", 128).unwrap();
        if flush {
            client.maintain(0..2, LineOp::Flush);
        }
        let seen = [0, 64, 128].map(|at| mapped.display_reads(at));
        let expected = if flush { [*b"old!", *b"gpu!", *b"wc!!"] } else { [[0; 4], [0; 4], *b"wc!!"] };
        assert_eq!(seen, expected);
    }
}
