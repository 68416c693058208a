//! Dumb buffers: their handle, pitch and size, and what is refused.

use bytemuck::{bytes_of, bytes_of_mut};
use gem_coherency::Errno;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency_sim::{Minor, Pages, Process, SimDevice};
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_CREATE_DUMB, drm_mode_create_dumb};

/// The struct's initial contents, all of them wrong.
const BEFORE: (u32, u32, u64) = (77, 5, 6);

/// Checks the result of `[height, width, bpp]`: the errno, and the handle, pitch and size.
#[track_caller]
fn case(device: &str, asked: [u32; 3], errno: Option<Errno>, expected: (u32, u32, u64)) {
    const ARGS: u64 = 0x10000;
    let mut process = Process::default();
    let fd = process.open(&SimDevice::open(device).unwrap(), Minor::Primary);
    process.allocate(ARGS, PAGE_BYTES, Pages::ReadWrite).unwrap();
    let [height, width, bpp] = asked;
    let (handle, pitch, size) = BEFORE;
    let mut args = drm_mode_create_dumb { height, width, bpp, flags: 3, handle, pitch, size };
    process.store(ARGS, bytes_of(&args)).unwrap();
    let done = process.ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB.code, ARGS);
    process.load(ARGS, bytes_of_mut(&mut args)).unwrap();
    assert_eq!((done.err(), (args.handle, args.pitch, args.size)), (errno, expected), "{asked:x?}");
}

#[test]
fn dumb_buffers_are_what_the_driver_makes() {
    let made = |asked, expected| case("sim:glk", asked, None, expected);
    made([768, 1024, 32], (1, 4096, 3 << 20));
    made([1, 1, 8], (1, 4096, 4096));
    made([1, 1, 1], (1, 4096, 4096));
    made([1, 1025, 32], (1, 8192, 8192));
    made([1, 0x4000_0000, 8], (1, 1 << 30, 1 << 30));
    made([0x4000_0000, 1, 8], (1, 4096, 4 << 40));
    made([1, 0xffff_f000, 8], (1, 0xffff_f000, 0xffff_f000));
}

#[test]
fn lines_that_a_plane_can_read_are_not_whole_pages() {
    let made = |asked, expected| case("sim:glk,display=on", asked, None, expected);
    made([1, 1, 8], (1, 64, 4096));
    made([1, 8192, 32], (1, 32768, 32768));
    made([1, 8193, 32], (1, 36864, 36864));
    made([1, 8193, 8], (1, 12288, 12288));
    case("sim:skl", [1, 1, 8], None, (1, 4096, 4096));
}

#[test]
fn local_memory_has_pages_and_limits_of_its_own() {
    case("sim:dg2", [1, 1, 8], None, (1, 4096, 65536));
    case("sim:dg2", [1, 0xffff_f000, 8], None, (1, 0xffff_f000, 1 << 32));
    case("sim:dg2", [0x4000_0000, 1, 8], Some(Errno::ENXIO), (0, 4096, 4 << 40));
    case("sim:dg2", [0x7fff_ffff, 1, 8], Some(Errno::E2BIG), (0, 4096, 0x7fff_ffff << 12));
}

#[test]
fn what_is_refused_at_once_leaves_the_struct_and_later_zeroes_it() {
    let refused = |asked, left| case("sim:glk", asked, Some(Errno::EINVAL), left);
    let empty = [[0, 1, 32], [1, 0, 32], [1, 1, 0]];
    let uncounted =
        [[1, 1, 0xffff_fff8], [u32::MAX, 1, 8], [1, u32::MAX, 8], [0x8000, 0x8000, 32], [1, 0xffff_f001, 8]];
    for asked in empty.into_iter().chain(uncounted) {
        refused(asked, BEFORE);
    }
    for bpp in [17, 24, 33, 64, 0xffff_fff7] {
        refused([1, 1, bpp], (0, 0, 0));
    }
}

#[test]
fn a_refusal_of_linux_7_2_zeroes_the_results() {
    for (device, asked, errno) in [
        ("sim:glk,kernel=7.2", [0, 1, 32], Errno::EINVAL),
        ("sim:glk,kernel=7.2", [1, 1, 24], Errno::EINVAL),
        ("sim:dg2,kernel=7.2", [0x7fff_ffff, 1, 8], Errno::E2BIG),
    ] {
        case(device, asked, Some(errno), (0, 0, 0));
    }
    case("sim:glk,kernel=7.2", [768, 1024, 32], None, (1, 4096, 3 << 20));
}

#[test]
fn render_nodes_make_no_dumb_buffers() {
    let mut process = Process::default();
    let fd = process.open(&SimDevice::open("sim:glk").unwrap(), Minor::Render);
    process.allocate(0x10000, PAGE_BYTES, Pages::ReadWrite).unwrap();
    let done = process.ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB.code, 0x10000);
    assert_eq!(done, Err(Errno::EACCES));
}
