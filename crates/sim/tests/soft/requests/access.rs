//! The CPU's ways to an object, and memory from elsewhere, as a process asks with numbers.

use bytemuck::{Pod, bytes_of, try_pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::Handle;
use gem_coherency_sim::{Minor, Pages, Process};
use gem_coherency_uapi::dma_buf::{DMA_BUF_IOCTL_EXPORT_SYNC_FILE, DMA_BUF_IOCTL_SYNC, DMA_BUF_SET_NAME_B};
use gem_coherency_uapi::drm::{
    DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_PRIME_FD_TO_HANDLE, DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_RDWR, drm_gem_close,
    drm_prime_handle,
};
use gem_coherency_uapi::i915::*;

use crate::sim;

const ARGS: u64 = 0x10_0000;
/// Two pages, a page that can only be read, and a hole.
const DATA: u64 = 0x20_0000;
const READ_ONLY: u64 = DATA + 8192;
const HOLE: u64 = DATA + 12288;

/// A process with one file of a device and one object of three pages, named 1.
struct Program {
    process: Process,
    fd: i32,
}

impl Program {
    #[track_caller]
    fn new(name: &str) -> Self {
        let mut process = Process::default();
        let fd = process.open(&sim(name), Minor::Render);
        process.allocate(ARGS, 4096, Pages::ReadWrite).unwrap();
        process.allocate(DATA, 8192, Pages::ReadWrite).unwrap();
        process.allocate(READ_ONLY, 4096, Pages::ReadOnly).unwrap();
        let mut program = Self { process, fd };
        let create = drm_i915_gem_create { size: 12288, ..Default::default() };
        program.ask(DRM_IOCTL_I915_GEM_CREATE.code, create).unwrap();
        program
    }

    /// Makes a request on another file; returns the struct afterwards.
    fn ask_on<T: Pod>(&mut self, fd: i32, code: u32, args: T) -> Result<T, Errno> {
        self.process.store(ARGS, bytes_of(&args)).unwrap();
        self.process.ioctl(fd, code, ARGS)?;
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(ARGS, &mut bytes).unwrap();
        Ok(try_pod_read_unaligned(&bytes).unwrap())
    }

    fn ask<T: Pod>(&mut self, code: u32, args: T) -> Result<T, Errno> {
        self.ask_on(self.fd, code, args)
    }

    fn offset(&mut self, handle: u32, flags: u64) -> Result<u64, Errno> {
        let args = drm_i915_gem_mmap_offset { handle, flags, ..Default::default() };
        self.ask(DRM_IOCTL_I915_GEM_MMAP_OFFSET.code, args).map(|args| args.offset)
    }

    fn map(&mut self, len: u64, offset: u64) -> Result<u64, Errno> {
        self.process.mmap(len, Pages::ReadWrite, self.fd, offset)
    }

    fn pwrite(&mut self, offset: u64, size: u64, data_ptr: u64) -> Result<(), Errno> {
        let args = drm_i915_gem_pwrite { handle: 1, offset, size, data_ptr, ..Default::default() };
        self.ask(DRM_IOCTL_I915_GEM_PWRITE.code, args).map(drop)
    }

    fn pread(&mut self, offset: u64, size: u64, data_ptr: u64) -> Result<(), Errno> {
        let args = drm_i915_gem_pread { handle: 1, offset, size, data_ptr, ..Default::default() };
        self.ask(DRM_IOCTL_I915_GEM_PREAD.code, args).map(drop)
    }

    fn set_domain(&mut self, handle: u32, read_domains: u32, write_domain: u32) -> Result<(), Errno> {
        let args = drm_i915_gem_set_domain { handle, read_domains, write_domain };
        self.ask(DRM_IOCTL_I915_GEM_SET_DOMAIN.code, args).map(drop)
    }

    fn madvise(&mut self, handle: u32, madv: u32) -> u32 {
        let args = drm_i915_gem_madvise { handle, madv, retained: 7 };
        self.ask(DRM_IOCTL_I915_GEM_MADVISE.code, args).unwrap().retained
    }

    fn userptr(&mut self, user_ptr: u64, user_size: u64, flags: u32) -> Result<u32, Errno> {
        let args = drm_i915_gem_userptr { user_ptr, user_size, flags, handle: 0 };
        self.ask(DRM_IOCTL_I915_GEM_USERPTR.code, args).map(|args| args.handle)
    }

    fn export(&mut self, handle: u32, flags: u32) -> Result<i32, Errno> {
        let args = drm_prime_handle { handle, flags, fd: -1 };
        self.ask(DRM_IOCTL_PRIME_HANDLE_TO_FD.code, args).map(|args| args.fd)
    }

    fn import(&mut self, fd: i32) -> Result<u32, Errno> {
        let args = drm_prime_handle { fd, ..Default::default() };
        self.ask(DRM_IOCTL_PRIME_FD_TO_HANDLE.code, args).map(|args| args.handle)
    }

    fn close(&mut self, handle: u32) {
        self.ask(DRM_IOCTL_GEM_CLOSE.code, drm_gem_close { handle, pad: 0 }).unwrap();
    }

    /// Returns whether the object with handle 1 has pages.
    fn has_pages(&self) -> bool {
        let device = self.process.device(self.fd).unwrap();
        device.snapshot(Handle::new(1).unwrap()).unwrap().pages
    }
}

#[test]
fn mmap_takes_what_lies_in_one_place_of_the_device_file() {
    for (name, middle) in [("tgl", None), ("tgl,kernel=6.1", Some(Errno::EINVAL))] {
        let mut program = Program::new(name);
        let at = program.offset(1, I915_MMAP_OFFSET_WB).unwrap();
        assert_eq!(program.offset(1, I915_MMAP_OFFSET_WB), Ok(at), "the same place again");
        assert_ne!(program.offset(1, I915_MMAP_OFFSET_WC), Ok(at));
        let mut case = |len, offset, expected: Option<Errno>| {
            assert_eq!(program.map(len, offset).err(), expected, "{name}: {len} at {offset:#x}");
        };
        case(12288, at, None);
        case(1, at, None);
        case(4096, at + 4096, middle);
        case(12288, at + 4096, Some(Errno::EINVAL));
        case(12289, at, Some(Errno::EINVAL));
        case(4096, at + 1, Some(Errno::EINVAL));
        case(0, at, Some(Errno::EINVAL));
        case(4096, at - 4096, Some(Errno::EINVAL));
        case(4096, u64::MAX - 4095, Some(Errno::EINVAL));
        case(8192, u64::MAX - 4095, Some(Errno::EOVERFLOW));
        case(1 << 47, at, Some(Errno::ENOMEM));
        case(u64::MAX, at, Some(Errno::ENOMEM));
    }
}

#[test]
fn a_file_maps_what_it_asked_for_until_it_closes_a_name_of_it() {
    let mut program = Program::new("tgl");
    let at = program.offset(1, I915_MMAP_OFFSET_WB).unwrap();
    let other = {
        let device = program.process.device(program.fd).unwrap();
        let again = device.open_again(Minor::Render);
        program.process.open(&again, Minor::Render)
    };
    assert_eq!(program.process.mmap(4096, Pages::ReadWrite, other, at), Err(Errno::EACCES));
    let mapped = program.map(4096, at).unwrap();
    program.close(1);
    assert_eq!(program.map(4096, at), Err(Errno::EACCES), "the mapping keeps the object");
    program.process.munmap(mapped).unwrap();
    assert_eq!(program.map(4096, at), Err(Errno::EINVAL), "nothing is there any more");
}

#[test]
fn mmap_offset_refuses_extensions_then_flags_then_the_object() {
    let mut program = Program::new("tgl");
    let mut case = |handle, flags, extensions, expected| {
        let args = drm_i915_gem_mmap_offset { handle, flags, extensions, ..Default::default() };
        assert_eq!(program.ask(DRM_IOCTL_I915_GEM_MMAP_OFFSET.code, args).err(), expected);
    };
    case(9, 77, HOLE, Some(Errno::EFAULT));
    case(9, 77, DATA, Some(Errno::EINVAL));
    case(9, 77, 0, Some(Errno::EINVAL));
    case(9, I915_MMAP_OFFSET_WB, 0, Some(Errno::ENOENT));
    case(1, I915_MMAP_OFFSET_FIXED, 0, Some(Errno::ENODEV));
    case(1, I915_MMAP_OFFSET_WB, 0, None);
    assert_eq!(Program::new("dg2").offset(1, I915_MMAP_OFFSET_WB), Err(Errno::ENODEV));
    assert_eq!(Program::new("mtl").offset(9, I915_MMAP_OFFSET_GTT), Err(Errno::ENODEV));
}

#[test]
fn only_faults_of_the_device_file_bring_pages_in() {
    let mut program = Program::new("tgl");
    let legacy = drm_i915_gem_mmap { handle: 1, size: 12288, ..Default::default() };
    let legacy = program.ask(DRM_IOCTL_I915_GEM_MMAP.code, legacy).unwrap().addr_ptr;
    let dma_buf = program.export(1, DRM_RDWR).unwrap();
    let shared = program.process.mmap(12288, Pages::ReadWrite, dma_buf, 0).unwrap();
    program.process.store(legacy, b"both").unwrap();
    let mut seen = [0; 4];
    program.process.load(shared, &mut seen).unwrap();
    assert_eq!(&seen, b"both");
    assert!(!program.has_pages());
    assert_eq!(program.madvise(1, I915_MADV_DONTNEED), 0, "nothing to keep, says the kernel");
    program.process.load(shared, &mut seen).unwrap();
    assert_eq!(seen, [0; 4], "fresh pages, and no SIGBUS");

    let mut program = Program::new("tgl");
    let at = program.offset(1, I915_MMAP_OFFSET_WB).unwrap();
    let mapped = program.map(4096, at).unwrap();
    program.process.load(mapped, &mut seen).unwrap();
    assert!(program.has_pages());
    assert_eq!(program.madvise(1, I915_MADV_DONTNEED), 1);

    let mut program = Program::new("dg1");
    let at = program.offset(1, I915_MMAP_OFFSET_FIXED).unwrap();
    let mapped = program.map(4096, at).unwrap();
    program.process.store(mapped, b"gone").unwrap();
    assert_eq!(program.madvise(1, I915_MADV_DONTNEED), 0, "TTM's memory does not count as pages");
    assert_eq!(program.process.load(mapped, &mut seen), Err(Errno::EFAULT));
}

#[test]
fn transfers_check_size_then_address_then_object_then_range() {
    let mut program = Program::new("tgl");
    let end = (1 << 47) - 4096;
    let mut case = |handle, offset, size, data_ptr, expected| {
        let args = drm_i915_gem_pread { handle, offset, size, data_ptr, ..Default::default() };
        assert_eq!(program.ask(DRM_IOCTL_I915_GEM_PREAD.code, args).err(), expected);
    };
    case(9, u64::MAX, 0, u64::MAX, None);
    case(9, 0, 1, end, Some(Errno::EFAULT));
    case(9, 0, 1, end - 1, Some(Errno::ENOENT));
    case(9, 0, u64::MAX, DATA, Some(Errno::EFAULT));
    case(1, 12288, 1, HOLE, Some(Errno::EINVAL));
    case(1, 12287, 2, DATA, Some(Errno::EINVAL));
    case(1, u64::MAX, 2, DATA, Some(Errno::EINVAL));
    case(1, 12287, 1, HOLE, Some(Errno::EFAULT));
    case(1, 12287, 1, READ_ONLY, Some(Errno::EFAULT));
    case(1, 12287, 1, DATA, None);
    let mut between = Program::new("tgl,kernel=6.6");
    let args = drm_i915_gem_pread { handle: 9, size: 1, data_ptr: 1 << 48, ..Default::default() };
    assert_eq!(between.ask(DRM_IOCTL_I915_GEM_PREAD.code, args).err(), Some(Errno::ENOENT));
}

#[test]
fn a_pwrite_that_faults_leaves_what_its_way_leaves() {
    // Checks the 200 bytes at 0 after a PWRITE whose source ends after 100.
    let case = |name: &str, pages: bool, errno: Errno, expected: [u8; 3]| {
        let mut program = Program::new(name);
        program.process.store(DATA, &[7; 8192]).unwrap();
        if pages {
            program.pwrite(0, 200, DATA).unwrap();
            program.pread(0, 1, DATA).unwrap();
            program.process.store(DATA, &[9; 200]).unwrap();
        }
        program.process.munmap(READ_ONLY).unwrap();
        program.process.store(DATA + 8192 - 100, &[8; 100]).unwrap();
        assert_eq!(program.pwrite(0, 200, DATA + 8192 - 100), Err(errno), "{name}");
        program.process.store(DATA, &[1; 300]).unwrap();
        program.pread(0, 300, DATA).unwrap();
        let mut seen = [1; 300];
        program.process.load(DATA, &mut seen).unwrap();
        assert_eq!([seen[0], seen[99], seen[100]], expected, "{name} {pages}");
    };
    // The page cache looks at both ends first.
    case("glk", false, Errno::EFAULT, [0, 0, 0]);
    case("tgl", false, Errno::EFAULT, [0, 0, 0]);
    // The file's own operation stores what there is, and is short.
    case("glk,kernel=7.2", false, Errno::EIO, [8, 8, 0]);
    // Through the cache the bytes that there are arrive.
    case("tgl", true, Errno::EFAULT, [8, 8, 7]);
    case("tgl,kernel=7.2", true, Errno::EFAULT, [8, 8, 7]);
    // Through the aperture zeroes follow them.
    case("glk", true, Errno::EFAULT, [8, 8, 0]);
}

#[test]
fn a_pwrite_without_pages_of_linux_7_2_has_the_errors_of_a_file() {
    let case = |name: &str, expected: [Errno; 3]| {
        let mut program = Program::new(name);
        // The second page of the source is not there; then the first one.
        let short = program.pwrite(0, 8192, READ_ONLY);
        let mut other = Program::new(name);
        let none = other.pwrite(0, 4096, HOLE);
        let create = drm_i915_gem_create { size: 0x8000_1000, ..Default::default() };
        let handle = other.ask(DRM_IOCTL_I915_GEM_CREATE.code, create).unwrap().handle;
        let args = drm_i915_gem_pwrite { handle, size: 0x7fff_f001, data_ptr: HOLE, ..Default::default() };
        let long = other.ask(DRM_IOCTL_I915_GEM_PWRITE.code, args).map(drop);
        assert_eq!([short, none, long], expected.map(Err), "{name}");
    };
    case("glk,kernel=7.2", [Errno::EIO, Errno::EFAULT, Errno::EFBIG]);
    case("glk,kernel=6.12", [Errno::EFAULT; 3]);
}

#[test]
fn linux_7_2_maps_no_dma_buf_for_execution() {
    let map = |name: &str, flags: u32| {
        let mut program = Program::new(name);
        let args = drm_prime_handle { handle: 1, flags, ..Default::default() };
        let fd = program.ask(DRM_IOCTL_PRIME_HANDLE_TO_FD.code, args).unwrap().fd;
        [0, 1 << 20].map(|offset| program.process.mmap(4096, Pages::Executable, fd, offset).err())
    };
    assert_eq!(map("glk,kernel=6.12", DRM_RDWR), [None, Some(Errno::EINVAL)]);
    assert_eq!(map("glk,kernel=7.2", DRM_RDWR), [Some(Errno::EPERM); 2]);
    assert_eq!(map("glk,kernel=7.2", 0), [Some(Errno::EACCES); 2], "a mapping for writing, too");
}

#[test]
fn a_pread_that_faults_looks_through_the_aperture_and_leaves_the_cpu_domain() {
    let mut program = Program::new("glk");
    assert_eq!(program.pread(0, 8192, READ_ONLY - 4096), Err(Errno::EFAULT));
    let device = program.process.device(program.fd).unwrap();
    let domains = device.snapshot(Handle::new(1).unwrap()).unwrap().read_domains;
    assert_eq!(domains.bits() & I915_GEM_DOMAIN_GTT, I915_GEM_DOMAIN_GTT);
    let rules: Vec<Rule> = device.take_kernel_flushes().iter().map(|flush| flush.rule).collect();
    assert_eq!(rules, [Rule::AcquireDirty], "and nothing else");
}

#[test]
fn userptr_checks_in_the_kernels_order() {
    let mut program = Program::new("icl");
    let mut case = |address, size, flags, expected| {
        assert_eq!(
            program.userptr(address, size, flags).err(),
            expected,
            "{address:#x} {size:#x} {flags:#x}"
        );
    };
    case(DATA + 1, 0, 4, Some(Errno::EINVAL));
    case(DATA, 0, 0, Some(Errno::EINVAL));
    case(DATA, 100, 0, Some(Errno::EINVAL));
    case(1 << 47, 4096, I915_USERPTR_UNSYNCHRONIZED, Some(Errno::EFAULT));
    case(DATA, 4096, I915_USERPTR_UNSYNCHRONIZED, Some(Errno::ENODEV));
    case(HOLE, 4096, I915_USERPTR_READ_ONLY, Some(Errno::ENODEV));
    case(HOLE, 4096, I915_USERPTR_PROBE, Some(Errno::EFAULT));
    case(DATA, 16384, I915_USERPTR_PROBE, Some(Errno::EFAULT));
    case(DATA, 12288, I915_USERPTR_PROBE, None);
    case(HOLE, 4096, 0, None);
    assert_eq!(Program::new("i965gm").userptr(DATA + 1, 0, 4), Err(Errno::ENODEV));
    assert_eq!(Program::new("glk,kernel=6.1").userptr(0, 1 << 44, 0), Err(Errno::E2BIG));
    assert!(Program::new("skl").userptr(HOLE, 4096, I915_USERPTR_READ_ONLY).is_ok());
}

#[test]
fn userptr_pages_are_looked_for_when_they_are_needed() {
    let mut program = Program::new("skl");
    let read_only = program.userptr(READ_ONLY, 4096, 0).unwrap();
    assert_eq!(program.set_domain(read_only, 1, 1), Err(Errno::EFAULT), "the GPU might write there");
    let read_only = program.userptr(READ_ONLY, 4096, I915_USERPTR_READ_ONLY).unwrap();
    assert_eq!(program.set_domain(read_only, 1, 1), Ok(()));
    let handle = program.userptr(DATA, 8192, 0).unwrap();
    assert_eq!(program.set_domain(handle, 1, 1), Ok(()));
    program.process.munmap(DATA).unwrap();
    assert_eq!(program.set_domain(handle, 1, 0), Err(Errno::EFAULT));
    program.process.allocate(DATA, 8192, Pages::ReadWrite).unwrap();
    assert_eq!(program.set_domain(handle, 1, 0), Ok(()));
    let at = program.offset(1, I915_MMAP_OFFSET_WB).unwrap();
    let mapped = program.map(4096, at).unwrap();
    let io = program.userptr(mapped, 4096, 0).unwrap();
    assert_eq!(program.set_domain(io, 1, 0), Err(Errno::EFAULT), "a device's memory");
    let legacy = drm_i915_gem_mmap { handle: 1, size: 4096, ..Default::default() };
    let legacy = program.ask(DRM_IOCTL_I915_GEM_MMAP.code, legacy).unwrap().addr_ptr;
    let file = program.userptr(legacy, 4096, I915_USERPTR_PROBE).unwrap();
    assert_eq!(program.set_domain(file, 1, 0), Ok(()), "a file's pages are memory");
    assert_eq!(program.export(file, 0), Err(Errno::EINVAL));
    assert_eq!(program.offset(file, I915_MMAP_OFFSET_WB), Err(Errno::ENODEV));
}

#[test]
fn a_dma_buf_tells_its_size_and_is_mapped_as_its_first_export_said() {
    let mut program = Program::new("tgl");
    assert_eq!(program.export(9, 1), Err(Errno::EINVAL));
    assert_eq!(program.export(9, 0), Err(Errno::ENOENT));
    let fd = program.export(1, 0).unwrap();
    let again = program.export(1, DRM_RDWR).unwrap();
    assert_ne!(fd, again);
    for fd in [fd, again] {
        let process = &mut program.process;
        assert_eq!(process.lseek(fd, 0, 2), Ok(12288));
        assert_eq!(process.lseek(fd, 1, 2), Err(Errno::EINVAL));
        assert_eq!(process.lseek(fd, 0, 1), Err(Errno::EINVAL));
        assert_eq!(process.mmap(4096, Pages::ReadWrite, fd, 0), Err(Errno::EACCES), "one dma-buf, read-only");
        assert!(process.mmap(8192, Pages::ReadOnly, fd, 4096).is_ok());
        assert_eq!(process.mmap(8192, Pages::ReadOnly, fd, 8192), Err(Errno::EINVAL));
    }
    assert_eq!(program.import(fd), Ok(1));
    assert_eq!(program.import(program.fd), Err(Errno::EINVAL));
    assert_eq!(program.import(99), Err(Errno::EBADF));
}

#[test]
fn dma_buf_requests_check_their_flags_and_their_memory() {
    let mut program = Program::new("tgl");
    let fd = program.export(1, DRM_RDWR).unwrap();
    let mut case = |flags: u64, expected: Option<Errno>| {
        assert_eq!(program.ask_on(fd, DMA_BUF_IOCTL_SYNC.code, flags).err(), expected, "{flags:#x}");
    };
    for flags in [1, 2, 3, 5, 6, 7] {
        case(flags, None);
    }
    for flags in [0, 4, 8, 9, 1 << 32] {
        case(flags, Some(Errno::EINVAL));
    }
    let process = &mut program.process;
    assert_eq!(process.ioctl(fd, DMA_BUF_IOCTL_SYNC.code, HOLE), Err(Errno::EFAULT));
    process.store(DATA, &[b'x'; 32]).unwrap();
    assert_eq!(process.ioctl(fd, DMA_BUF_SET_NAME_B.code, DATA), Err(Errno::EINVAL));
    assert_eq!(process.ioctl(fd, DMA_BUF_SET_NAME_B.code, DATA + 1), Ok(0));
    assert_eq!(process.ioctl(fd, DMA_BUF_SET_NAME_B.code, HOLE), Err(Errno::EFAULT));
    assert_eq!(process.ioctl(fd, 0x6200, DATA), Err(Errno::ENOTTY));
    let fence = program.ask_on(fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE.code, 1_u64).unwrap() >> 32;
    assert_eq!(program.process.mmap(4096, Pages::ReadOnly, fence as i32, 0), Err(Errno::ENODEV));
    assert_eq!(program.process.lseek(fence as i32, 0, 0), Err(Errno::ESPIPE));
}

#[test]
fn a_foreign_dma_buf_is_a_new_object_in_every_file_and_exported_as_itself() {
    let mut program = Program::new("tgl");
    let fd = program.process.foreign_dma_buf(8192, true).unwrap();
    let handle = program.import(fd).unwrap();
    assert_eq!((handle, program.import(fd).unwrap()), (2, 2));
    let again = program.export(handle, 0).unwrap();
    assert_eq!(program.import(again), Ok(handle));
    assert!(program.process.mmap(8192, Pages::ReadWrite, again, 0).is_ok(), "as its exporter said");
    assert_eq!(program.offset(handle, I915_MMAP_OFFSET_WB), Err(Errno::ENODEV));
    assert!(program.offset(handle, I915_MMAP_OFFSET_GTT).is_ok());
    let legacy = drm_i915_gem_mmap { handle, size: 4096, ..Default::default() };
    assert_eq!(program.ask(DRM_IOCTL_I915_GEM_MMAP.code, legacy).err(), Some(Errno::ENXIO));
    assert_eq!(program.set_domain(handle, 1, 1), Ok(()));
}
