//! Framebuffers: which pictures the display can read, by size, pitch, format and tiling.

use bytemuck::bytes_of;
use gem_coherency::Errno;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_fourcc::*;

use crate::display::framebuffers::{EINVAL, ERANGE, Setup, picture};

/// Checks the result of ADDFB2 of one page of a machine after `change`.
#[track_caller]
fn case(name: &str, change: impl Fn(&mut drm_mode_fb_cmd2), expected: Option<Errno>) {
    let mut setup = Setup::new(&format!("{name},display=on"));
    let handle = setup.object(1);
    let mut args = picture(handle);
    change(&mut args);
    let before = args;
    let done = setup.ask(0, DRM_IOCTL_MODE_ADDFB2, &mut args);
    assert_eq!(done, expected, "{name}: {before:?}");
    assert_eq!(args.fb_id != before.fb_id, expected.is_none(), "an id, or nothing");
    args.fb_id = before.fb_id;
    assert_eq!(bytes_of(&args), bytes_of(&before), "nothing else is written");
}

#[test]
fn an_object_that_is_too_small_is_no_framebuffer() {
    case("tgl", |_| (), None);
    case("tgl", |args| args.height = 9, EINVAL);
    case("tgl", |args| (args.width, args.height) = (128, 8), None);
    case("tgl", |args| args.width = 129, EINVAL);
    case("tgl", |args| (args.width, args.height, args.pitches[0]) = (1, 1, 64), None);
}

#[test]
fn sizes_are_limited_by_the_generation_and_by_four_gigabytes() {
    let wide = |args: &mut drm_mode_fb_cmd2| args.width = 8193;
    case("glk", |args| args.width = 0, EINVAL);
    case("glk", |args| args.height = 0, EINVAL);
    case("glk", |args| args.width = 16385, EINVAL);
    case("snb", wide, EINVAL);
    // In range, so that the 4 GiB are counted.
    case("glk", |args| (args.width, args.pitches[0], args.offsets[0]) = (8193, u32::MAX, 0), ERANGE);
    case("snb", |args| (args.width, args.pitches[0], args.offsets[0]) = (8193, u32::MAX, 0), EINVAL);
    case("glk", |args| args.offsets[0] = u32::MAX - 4095, ERANGE);
    case("glk", |args| args.offsets[0] = 64, EINVAL);
}

#[test]
fn pitches_are_whole_lines_and_what_is_remapped_whole_pages() {
    let line = |pitch: u32| {
        move |args: &mut drm_mode_fb_cmd2| (args.height, args.width, args.pitches[0]) = (1, 1, pitch)
    };
    let mut setup = Setup::new("hsw,display=on");
    let handle = setup.object(256);
    let mut with = |pitch, pixel_format| {
        let mut args = picture(handle);
        line(pitch)(&mut args);
        args.pixel_format = pixel_format;
        setup.ask(0, DRM_IOCTL_MODE_ADDFB2, &mut args)
    };
    assert_eq!(with(64, DRM_FORMAT_XRGB8888), None);
    assert_eq!(with(65, DRM_FORMAT_XRGB8888), EINVAL);
    assert_eq!(with(32768, DRM_FORMAT_XRGB8888), None);
    assert_eq!(with(32768 + 64, DRM_FORMAT_XRGB8888), EINVAL);
    assert_eq!(with(36864, DRM_FORMAT_XRGB8888), None);
    assert_eq!(with(8192 + 64, DRM_FORMAT_C8), EINVAL, "8192 pixels of one byte");
    assert_eq!(with(16384 + 64, DRM_FORMAT_C8), EINVAL);
    assert_eq!(with(262_144, DRM_FORMAT_XRGB8888), None);
    assert_eq!(with(262_144 + 4096, DRM_FORMAT_XRGB8888), EINVAL, "too long for the render engine");
}

#[test]
fn formats_are_those_of_the_platforms_planes() {
    let format = |pixel_format| move |args: &mut drm_mode_fb_cmd2| args.pixel_format = pixel_format;
    case("hsw", format(DRM_FORMAT_XBGR8888), None);
    case("hsw", format(DRM_FORMAT_ARGB8888), None);
    case("hsw", format(DRM_FORMAT_ABGR8888), EINVAL);
    case("skl", format(DRM_FORMAT_ABGR8888), None);
    case("skl", format(DRM_FORMAT_ARGB2101010), EINVAL);
    case("tgl", format(DRM_FORMAT_ARGB2101010), None);
    case("i915g", format(DRM_FORMAT_XBGR8888), EINVAL);
    case("i915g", format(DRM_FORMAT_XRGB1555), None);
    case("tgl", format(DRM_FORMAT_XRGB1555), EINVAL);
    case("tgl", format(0), EINVAL);
}

/// NV12 with the colours at an offset.
fn nv12(offset: u32) -> impl Fn(&mut drm_mode_fb_cmd2) {
    move |args| {
        args.pixel_format = DRM_FORMAT_NV12;
        args.handles[1] = args.handles[0];
        (args.pitches[0], args.pitches[1]) = (128, 128);
        args.offsets[1] = offset;
    }
}

#[test]
fn colours_begin_at_a_line_on_6_1_and_anywhere_on_6_12() {
    case("tgl,kernel=6.1", nv12(1024), None);
    case("tgl,kernel=6.1", nv12(1000), EINVAL);
    case("tgl,kernel=6.12", nv12(1000), None);
    case("glk,kernel=6.1", nv12(1000), None);
    case("skl", nv12(1024), EINVAL);
    case("kbl", nv12(1024), None);
    let other = |args: &mut drm_mode_fb_cmd2| {
        nv12(1024)(args);
        args.handles[1] = 77;
    };
    case("tgl", other, EINVAL);
}

#[test]
fn a_modifier_counts_only_with_its_flag() {
    let modifier = |flags, modifier| {
        move |args: &mut drm_mode_fb_cmd2| (args.flags, args.modifier[0]) = (flags, modifier)
    };
    case("tgl", modifier(0, I915_FORMAT_MOD_X_TILED), EINVAL);
    case("tgl", modifier(DRM_MODE_FB_MODIFIERS, I915_FORMAT_MOD_X_TILED), None);
    case("tgl", modifier(DRM_MODE_FB_MODIFIERS, I915_FORMAT_MOD_4_TILED), EINVAL);
    case("tgl", modifier(4, 0), EINVAL);
    // Four tiles of 128 by 32 do not fit into a page; one does.
    let y = |pitch| {
        move |args: &mut drm_mode_fb_cmd2| {
            (args.flags, args.modifier[0]) = (DRM_MODE_FB_MODIFIERS, I915_FORMAT_MOD_Y_TILED);
            args.pitches[0] = pitch;
        }
    };
    case("tgl", y(512), EINVAL);
    case("tgl", y(128), None);
    case("hsw", y(128), EINVAL);
}

#[test]
fn what_is_compressed_has_a_plane_that_says_how() {
    let skl = |pitch: u32| {
        move |args: &mut drm_mode_fb_cmd2| {
            args.flags = DRM_MODE_FB_MODIFIERS;
            args.modifier[..2].fill(I915_FORMAT_MOD_Y_TILED_CCS);
            args.handles[1] = args.handles[0];
            args.pitches[..2].copy_from_slice(&[128, pitch]);
        }
    };
    case("skl", skl(128), None);
    case("skl", skl(64), EINVAL);
    case("skl", skl(0), EINVAL);
    case("tgl", skl(128), EINVAL);
    let without = |args: &mut drm_mode_fb_cmd2| {
        skl(128)(args);
        args.handles[1] = 0;
    };
    case("skl", without, EINVAL);
}

#[test]
fn old_formats_are_known_by_their_depth() {
    let mut setup = Setup::new("glk,display=on");
    let handle = setup.object(1);
    let mut with = |bpp, depth| {
        let mut args =
            drm_mode_fb_cmd { width: 16, height: 8, pitch: 512, bpp, depth, handle, ..Default::default() };
        setup.ask(0, DRM_IOCTL_MODE_ADDFB, &mut args)
    };
    assert_eq!(with(32, 24), None);
    assert_eq!(with(32, 32), None);
    assert_eq!(with(32, 16), EINVAL);
    assert_eq!(with(16, 15), EINVAL, "gen9 has no 15 bits");
    assert_eq!(with(24, 24), EINVAL);
}
