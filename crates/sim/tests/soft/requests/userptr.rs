//! Objects of a process's memory: their bytes are the process's.

use bytemuck::bytes_of;
use gem_coherency::Errno;
use gem_coherency::backend::{Created, Drm, ExecObject, Extras};
use gem_coherency::vocabulary::{Access, Handle, MocsClass};
use gem_coherency_sim::{Pages, SimDevice};
use gem_coherency_uapi::drm::{DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_RDWR, drm_prime_handle};
use gem_coherency_uapi::i915::*;
use gem_coherency_uapi::i915_exec::*;

use crate::requests::caller::{Caller, LIST};

/// Three pages, and one right after them that another call mapped.
const USER: u64 = 0x20_0000;
const BEHIND: u64 = USER + 0x3000;

/// A process with such memory.
#[track_caller]
fn program(name: &str) -> Caller {
    let mut caller = Caller::new(name);
    caller.process.allocate(USER, 0x3000, Pages::ReadWrite).unwrap();
    caller.process.allocate(BEHIND, 0x1000, Pages::ReadWrite).unwrap();
    caller
}

/// An object of the process's memory from `user_ptr` on.
#[track_caller]
fn userptr(caller: &mut Caller, user_ptr: u64, user_size: u64) -> u32 {
    let args = drm_i915_gem_userptr { user_ptr, user_size, ..Default::default() };
    let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_USERPTR, args);
    assert_eq!(errno, None);
    args.handle
}

/// Submits an object, which is relocated if there is one relocation at `relocs_ptr`.
fn submit(caller: &mut Caller, handle: u32, relocs_ptr: u64) -> Option<Errno> {
    let relocation_count = u32::from(relocs_ptr != 0);
    let list = drm_i915_gem_exec_object2 { handle, relocation_count, relocs_ptr, ..Default::default() };
    let buffers_ptr = caller.put(LIST, &list);
    let args = drm_i915_gem_execbuffer2 { buffers_ptr, buffer_count: 1, ..Default::default() };
    caller.on(2, DRM_IOCTL_I915_GEM_EXECBUFFER2, args).0
}

fn load(caller: &Caller, at: u64) -> [u8; 4] {
    let mut bytes = [0; 4];
    caller.process.load(at, &mut bytes).unwrap();
    bytes
}

fn gpu_reads(caller: &Caller, handle: u32, mocs: MocsClass, offset: u64) -> [u8; 4] {
    let mut bytes = [0; 4];
    let device = caller.process.device(caller.fds[2]).unwrap();
    device.gpu_read(Handle::new(handle).unwrap(), mocs, offset, &mut bytes).unwrap();
    bytes
}

fn gpu_writes(caller: &Caller, handle: u32, offset: u64, data: &[u8]) {
    let device = caller.process.device(caller.fds[2]).unwrap();
    device.gpu_write(Handle::new(handle).unwrap(), MocsClass::PageTable, offset, data).unwrap();
}

#[test]
fn the_gpu_and_the_process_see_the_same_bytes() {
    for name in ["glk", "tgl", "mtl", "hsw,kernel=6.1", "dg2", "tgl,adversary=on,seed=3"] {
        let mut caller = program(name);
        caller.process.store(USER + 0x2ffe, b"before").unwrap();
        let handle = userptr(&mut caller, USER + 0x1000, 0x3000);
        assert_eq!(submit(&mut caller, handle, 0), None, "{name}");
        assert_eq!(
            &gpu_reads(&caller, handle, MocsClass::PageTable, 0x1ffe),
            b"befo",
            "{name}: two mappings"
        );
        gpu_writes(&caller, handle, 0x1ffe, b"gpu!");
        assert_eq!(&load(&caller, USER + 0x2ffe), b"gpu!", "{name}");
        caller.process.store(USER + 0x2fff, b"cpu").unwrap();
        assert_eq!(&gpu_reads(&caller, handle, MocsClass::PageTable, 0x1ffe), b"gcpu", "{name}");
        assert_eq!(load(&caller, USER + 0xffe), [0; 4], "{name}: before the object");
    }
}

#[test]
fn objects_of_the_same_memory_have_the_same_bytes() {
    let mut caller = program("tgl");
    let all = userptr(&mut caller, USER, 0x3000);
    let last = userptr(&mut caller, USER + 0x2000, 0x2000);
    for handle in [all, last] {
        assert_eq!(submit(&mut caller, handle, 0), None);
    }
    gpu_writes(&caller, all, 0x2000, b"both");
    assert_eq!(&gpu_reads(&caller, last, MocsClass::PageTable, 0), b"both");
}

#[test]
fn an_address_that_is_put_into_user_memory_shows_in_the_process() {
    for (name, len) in [("glk", 8), ("hsw", 4), ("i965gm", 0)] {
        let mut caller = program(name);
        if len == 0 {
            let args = drm_i915_gem_userptr { user_ptr: USER, user_size: 0x1000, ..Default::default() };
            assert_eq!(caller.on(2, DRM_IOCTL_I915_GEM_USERPTR, args).0, Some(Errno::ENODEV));
            continue;
        }
        let handle = userptr(&mut caller, USER, 0x1000);
        caller.process.store(USER, &[0xff; 16]).unwrap();
        let relocation = drm_i915_gem_relocation_entry {
            target_handle: handle,
            offset: 4,
            presumed_offset: u64::MAX,
            ..Default::default()
        };
        let at = caller.put(LIST + 0x100, &relocation);
        assert_eq!(submit(&mut caller, handle, at), None, "{name}");
        let mut presumed = [0; 8];
        caller.process.load(at + 16, &mut presumed).unwrap();
        let mut seen = [0; 16];
        caller.process.load(USER, &mut seen).unwrap();
        let mut expected = [0xff; 16];
        expected[4..4 + len].copy_from_slice(&presumed[..len]);
        assert_eq!(seen, expected, "{name}");
    }
}

#[test]
fn the_list_of_a_submission_may_be_in_the_object_itself() {
    let mut caller = program("glk");
    let handle = userptr(&mut caller, USER, 0x1000);
    let relocation = drm_i915_gem_relocation_entry {
        target_handle: handle,
        offset: 0x108,
        presumed_offset: u64::MAX,
        ..Default::default()
    };
    caller.process.store(USER + 0x100, bytes_of(&relocation)).unwrap();
    assert_eq!(submit(&mut caller, handle, USER + 0x100), None);
    // The address overwrote the entry's own `offset`; `presumed_offset`, after it, is the same address.
    let mut seen = [0; 16];
    caller.process.load(USER + 0x108, &mut seen).unwrap();
    assert_eq!(seen[..8], seen[8..]);
    assert_ne!(seen[..8], [0xff; 8]);
}

#[test]
fn pages_stay_the_objects_until_a_request_looks_for_them_again() {
    let mut caller = program("tgl");
    caller.process.store(BEHIND, b"old ").unwrap();
    let handle = userptr(&mut caller, BEHIND, 0x1000);
    assert_eq!(submit(&mut caller, handle, 0), None);
    caller.process.munmap(BEHIND).unwrap();
    caller.process.allocate(BEHIND, 0x1000, Pages::ReadWrite).unwrap();
    caller.process.store(BEHIND, b"new ").unwrap();
    assert_eq!(&gpu_reads(&caller, handle, MocsClass::PageTable, 0), b"old ");
    assert_eq!(submit(&mut caller, handle, 0), None);
    assert_eq!(&gpu_reads(&caller, handle, MocsClass::PageTable, 0), b"new ");
}

#[test]
fn memory_that_no_request_brought_in_is_not_the_gpus() {
    let mut caller = program("tgl");
    let handle = userptr(&mut caller, USER, 0x1000);
    let device = caller.process.device(caller.fds[2]).unwrap();
    let read = device.gpu_read(Handle::new(handle).unwrap(), MocsClass::PageTable, 0, &mut [0; 4]);
    assert_eq!(read.unwrap_err().errno(), Errno::EFAULT);
}

#[test]
fn a_shared_objects_pages_can_be_user_memory_too() {
    let mut caller = program("tgl");
    let handle = caller.create(2);
    let args = drm_prime_handle { handle, flags: DRM_RDWR, fd: -1 };
    let fd = caller.on(2, DRM_IOCTL_PRIME_HANDLE_TO_FD, args).1.fd;
    let mapped = caller.process.mmap(4096, Pages::ReadWrite, fd, 0).unwrap();
    let user = userptr(&mut caller, mapped, 4096);
    assert_eq!(submit(&mut caller, user, 0), None);
    gpu_writes(&caller, user, 8, b"one ");
    assert_eq!(&load(&caller, mapped + 8), b"one ");
    assert_eq!(&gpu_reads(&caller, handle, MocsClass::PageTable, 8), b"one ");
}

#[test]
fn a_read_around_the_llc_sees_what_was_stored_before_the_pages_were_brought_in_and_no_more() {
    let mut caller = program("jsl");
    caller.process.store(USER, b"then").unwrap();
    let handle = userptr(&mut caller, USER, 0x1000);
    assert_eq!(submit(&mut caller, handle, 0), None);
    assert_eq!(&gpu_reads(&caller, handle, MocsClass::BypassLlc, 0), b"then", "flushed by then");
    caller.process.store(USER, b"now ").unwrap();
    assert_eq!(submit(&mut caller, handle, 0), None);
    assert_eq!(&gpu_reads(&caller, handle, MocsClass::BypassLlc, 0), b"then", "nobody flushes it again");
    assert_eq!(&gpu_reads(&caller, handle, MocsClass::PageTable, 0), b"now ");
}

#[test]
fn the_log_of_incoherent_accesses_counts_the_objects_lines() {
    for (name, log) in [("jsl", 1), ("tgl", 0)] {
        let mut caller = program(name);
        let handle = userptr(&mut caller, USER + 0x1000, 0x3000);
        assert_eq!(submit(&mut caller, handle, 0), None);
        caller.process.store(BEHIND + 64, b"new!").unwrap();
        caller.process.device(caller.fds[2]).unwrap().watch(true);
        gpu_reads(&caller, handle, MocsClass::BypassLlc, 0x2000 + 64);
        let found = caller.process.device(caller.fds[2]).unwrap().incoherent();
        assert_eq!(found.len(), log, "{name}");
        for access in found {
            assert_eq!((access.handle, access.size), (Handle::new(handle), 0x3000));
            assert_eq!(
                access.lines.first().map(|lines| lines.first()),
                Some(129),
                "of the object, not of the mapping"
            );
        }
    }
}

#[test]
fn a_typed_request_makes_an_object_of_new_pages() {
    let open = |name: &str| SimDevice::open(name).unwrap();
    let device = open("sim:jsl");
    let (created, [mapping, other]) = device.create_userptr(0x2000).unwrap();
    let Created { handle, size_bytes } = created;
    assert_eq!((size_bytes, mapping.len(), device.open_counts().mappings), (0x2000, 0x2000, 2));
    device.execute(&[ExecObject { handle, access: Access::Write }]).unwrap();
    mapping.copy_in(0x1000, &[7; 4]).unwrap();
    let mut seen = [0; 4];
    let mut reads = |mocs| {
        device.gpu_read(handle, mocs, 0x1000, &mut seen).unwrap();
        seen
    };
    assert_eq!(
        (reads(MocsClass::PageTable), reads(MocsClass::BypassLlc)),
        ([7; 4], [0; 4]),
        "not in memory yet"
    );
    device.gpu_write(handle, MocsClass::PageTable, 0, &[9; 4]).unwrap();
    other.copy_out(0, &mut seen).unwrap();
    assert_eq!(seen, [9; 4]);
    device.close(handle).unwrap();
    drop((mapping, other));
    assert_eq!((device.objects_alive(), device.open_counts().mappings), (0, 0));

    let refused = |name: &str, size| open(name).create_userptr(size).unwrap_err().errno();
    assert_eq!(refused("sim:jsl", 0), Errno::EINVAL);
    assert_eq!(refused("sim:jsl", 100), Errno::EINVAL);
    assert_eq!(refused("sim:jsl", u64::MAX), Errno::ENOMEM);
    assert_eq!(refused("sim:i965gm", 0x1000), Errno::ENODEV);
}
