//! Framebuffers through ioctl(2): whose they are, and what they keep.

use bytemuck::{Pod, bytes_of, bytes_of_mut};
use gem_coherency::Errno;
use gem_coherency_sim::{Minor, Pages, Process, SimDevice};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm::{
    DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_GEM_FLINK, DRM_IOCTL_GEM_OPEN, drm_gem_close, drm_gem_flink, drm_gem_open,
};
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_fourcc::*;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_CREATE, DRM_IOCTL_I915_GEM_SET_DOMAIN, DRM_IOCTL_I915_GEM_SET_TILING,
    drm_i915_gem_create, drm_i915_gem_set_domain, drm_i915_gem_set_tiling,
};

use crate::sim;

const ARGS: u64 = 0x10000;
const CLIPS: u64 = ARGS + 4096;

/// A process with a device open twice: the master first.
pub struct Setup {
    process: Process,
    device: SimDevice,
    files: [i32; 2],
}

impl Setup {
    #[track_caller]
    pub fn new(name: &str) -> Self {
        let device = sim(name);
        let mut process = Process::default();
        let files = [process.open(&device, Minor::Primary), process.open(&device, Minor::Primary)];
        process.allocate(ARGS, 8192, Pages::ReadWrite).unwrap();
        Self { process, device, files }
    }

    /// Makes a request on a file; the struct comes back also when it fails.
    #[track_caller]
    pub fn ask<T: Pod>(&mut self, file: usize, request: Ioctl<T>, args: &mut T) -> Option<Errno> {
        self.process.store(ARGS, bytes_of(args)).unwrap();
        let done = self.process.ioctl(self.files[file], request.code, ARGS);
        self.process.load(ARGS, bytes_of_mut(args)).unwrap();
        done.err()
    }

    /// An object of so many pages on the first file.
    #[track_caller]
    pub fn object(&mut self, pages: u64) -> u32 {
        let mut create = drm_i915_gem_create { size: pages * 4096, ..Default::default() };
        assert_eq!(self.ask(0, DRM_IOCTL_I915_GEM_CREATE, &mut create), None);
        create.handle
    }

    /// A framebuffer of the object on the first file.
    #[track_caller]
    fn framebuffer(&mut self, handle: u32) -> u32 {
        let mut args = picture(handle);
        assert_eq!(self.ask(0, DRM_IOCTL_MODE_ADDFB2, &mut args), None);
        args.fb_id
    }

    fn remove(&mut self, file: usize, id: u32) -> Option<Errno> {
        self.ask(file, DRM_IOCTL_MODE_RMFB, &mut { id })
    }

    fn close(&mut self, handle: u32) {
        self.close_on(0, handle);
    }

    fn close_on(&mut self, file: usize, handle: u32) {
        assert_eq!(self.ask(file, DRM_IOCTL_GEM_CLOSE, &mut drm_gem_close { handle, pad: 0 }), None);
    }

    fn dirty(&mut self, file: usize, mut args: drm_mode_fb_dirty_cmd) -> Option<Errno> {
        self.ask(file, DRM_IOCTL_MODE_DIRTYFB, &mut args)
    }
}

/// 16 by 8 pixels of an object, in one page.
pub fn picture(handle: u32) -> drm_mode_fb_cmd2 {
    drm_mode_fb_cmd2 {
        width: 16,
        height: 8,
        pixel_format: DRM_FORMAT_XRGB8888,
        handles: [handle, 0, 0, 0],
        pitches: [512, 0, 0, 0],
        ..Default::default()
    }
}

pub const EINVAL: Option<Errno> = Some(Errno::EINVAL);
pub const ENOENT: Option<Errno> = Some(Errno::ENOENT);
pub const ERANGE: Option<Errno> = Some(Errno::ERANGE);

#[test]
fn the_objects_tiling_is_the_framebuffers() {
    let mut setup = Setup::new("hsw,display=on");
    let handle = setup.object(1);
    let tile = |setup: &mut Setup, tiling_mode| {
        let mut args = drm_i915_gem_set_tiling { handle, tiling_mode, stride: 512, ..Default::default() };
        setup.ask(0, DRM_IOCTL_I915_GEM_SET_TILING, &mut args)
    };
    assert_eq!(tile(&mut setup, 1), None);
    let id = setup.framebuffer(handle);
    let mut planes = drm_mode_fb_cmd2 { fb_id: id, ..Default::default() };
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_GETFB2, &mut planes), None);
    assert_eq!((planes.modifier[0], planes.flags), (I915_FORMAT_MOD_X_TILED, DRM_MODE_FB_MODIFIERS));
    assert_eq!(tile(&mut setup, 0), Some(Errno::EBUSY));
    let mut linear = drm_mode_fb_cmd2 { flags: DRM_MODE_FB_MODIFIERS, ..picture(handle) };
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_ADDFB2, &mut linear), EINVAL);
    let mut wider = drm_mode_fb_cmd2 { pitches: [1024, 0, 0, 0], ..picture(handle) };
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_ADDFB2, &mut wider), EINVAL);
    assert_eq!(setup.remove(0, id), None);
    assert_eq!(tile(&mut setup, 2), None);
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_ADDFB2, &mut picture(handle)), EINVAL, "Y has no old name");
}

#[test]
fn only_the_file_that_made_a_framebuffer_removes_it() {
    let mut setup = Setup::new("glk,display=on");
    let handle = setup.object(1);
    let id = setup.framebuffer(handle);
    assert_eq!(setup.remove(1, id), ENOENT);
    let mut closed = drm_mode_closefb { fb_id: id, pad: 0 };
    assert_eq!(setup.ask(1, DRM_IOCTL_MODE_CLOSEFB, &mut closed), ENOENT);
    closed.pad = 1;
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_CLOSEFB, &mut closed), EINVAL);
    assert_eq!(setup.remove(0, id), None);
    assert_eq!(setup.remove(0, id), ENOENT);
    assert_eq!(setup.framebuffer(handle), id, "the lowest free id");
    closed.pad = 0;
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_CLOSEFB, &mut closed), None);
    let mut old = Setup::new("glk,display=on,kernel=6.1");
    assert_eq!(old.ask(0, DRM_IOCTL_MODE_CLOSEFB, &mut closed), EINVAL, "no such request");
}

#[test]
fn a_framebuffer_keeps_its_object_until_its_file_closes() {
    let mut setup = Setup::new("glk,display=on");
    let handle = setup.object(1);
    let id = setup.framebuffer(handle);
    setup.close(handle);
    assert_eq!(setup.device.objects_alive(), 1);
    let mut shown = drm_mode_fb_cmd { fb_id: id, ..Default::default() };
    assert_eq!(setup.ask(1, DRM_IOCTL_MODE_GETFB, &mut shown), None);
    assert_eq!((shown.width, shown.height, shown.pitch, shown.bpp, shown.depth), (16, 8, 512, 32, 24));
    setup.close_on(1, shown.handle);
    setup.process.close(setup.files[0]).unwrap();
    assert_eq!(setup.ask(1, DRM_IOCTL_MODE_GETFB, &mut shown), ENOENT);
    assert_eq!(setup.device.objects_alive(), 0);
}

#[test]
fn a_framebuffer_is_a_name_of_the_object_on_6_12_only() {
    let case = |kernel: &str, expected| {
        let mut setup = Setup::new(&format!("glk,display=on,kernel={kernel}"));
        let handle = setup.object(1);
        let mut flink = drm_gem_flink { handle, name: 0 };
        assert_eq!(setup.ask(0, DRM_IOCTL_GEM_FLINK, &mut flink), None);
        let id = setup.framebuffer(handle);
        setup.close(handle);
        let mut open = drm_gem_open { name: flink.name, ..Default::default() };
        assert_eq!(setup.ask(0, DRM_IOCTL_GEM_OPEN, &mut open), expected, "{kernel}");
        if expected.is_none() {
            setup.close(open.handle);
            assert_eq!(setup.remove(0, id), None);
            assert_eq!(setup.ask(0, DRM_IOCTL_GEM_OPEN, &mut open), ENOENT, "with the framebuffer");
        }
    };
    case("6.12", None);
    case("6.1", ENOENT);
}

#[test]
fn dirtyfb_is_the_masters_and_flushes_on_6_1() {
    let case = |kernel: &str, flushes: usize| {
        let mut setup = Setup::new(&format!("glk,display=on,kernel={kernel}"));
        let handle = setup.object(1);
        let fb_id = setup.framebuffer(handle);
        let mut domain = drm_i915_gem_set_domain { handle, read_domains: 1, write_domain: 1 };
        assert_eq!(setup.ask(0, DRM_IOCTL_I915_GEM_SET_DOMAIN, &mut domain), None);
        let whole = drm_mode_fb_dirty_cmd { fb_id, ..Default::default() };
        let before = setup.device.kernel_flushes().len();
        assert_eq!(setup.dirty(1, whole), Some(Errno::EACCES), "not the master");
        assert_eq!(setup.dirty(0, drm_mode_fb_dirty_cmd { num_clips: 1, ..whole }), EINVAL);
        assert_eq!(setup.device.kernel_flushes().len(), before);
        assert_eq!(setup.dirty(0, whole), None);
        assert_eq!(setup.device.kernel_flushes().len() - before, flushes, "{kernel}");
    };
    case("6.1", 1);
    case("6.12", 0);
}

#[test]
fn dirtyfb_takes_256_rectangles_that_are_there_in_pairs_if_they_are_copied() {
    let mut setup = Setup::new("glk,display=on");
    let handle = setup.object(1);
    let fb_id = setup.framebuffer(handle);
    let mut with = |num_clips, clips_ptr, flags| {
        setup.dirty(0, drm_mode_fb_dirty_cmd { fb_id, flags, num_clips, clips_ptr, ..Default::default() })
    };
    assert_eq!(with(256, CLIPS, 0), None);
    assert_eq!(with(257, CLIPS, 0), EINVAL);
    assert_eq!(with(0, CLIPS, 0), EINVAL);
    assert_eq!(with(3, CLIPS, DRM_MODE_FB_DIRTY_ANNOTATE_COPY), EINVAL);
    assert_eq!(with(2, CLIPS, DRM_MODE_FB_DIRTY_ANNOTATE_COPY), None);
    assert_eq!(with(1, CLIPS + 4092, 0), Some(Errno::EFAULT));
}

#[test]
fn two_framebuffers_of_an_object_are_one_until_both_are_gone() {
    let mut setup = Setup::new("hsw,display=on");
    let handle = setup.object(1);
    let [one, other] = [setup.framebuffer(handle), setup.framebuffer(handle)];
    let busy = |setup: &mut Setup| {
        let mut args = drm_i915_gem_set_tiling { handle, tiling_mode: 1, stride: 512, ..Default::default() };
        setup.ask(0, DRM_IOCTL_I915_GEM_SET_TILING, &mut args)
    };
    assert_eq!(setup.remove(0, one), None);
    assert_eq!(busy(&mut setup), Some(Errno::EBUSY));
    assert_eq!(setup.remove(0, other), None);
    assert_eq!(busy(&mut setup), None);
}

#[test]
fn resources_list_the_files_own_framebuffers_newest_first() {
    let mut setup = Setup::new("glk,display=on");
    let handle = setup.object(1);
    let ids = [setup.framebuffer(handle), setup.framebuffer(handle), setup.framebuffer(handle)];
    let mut args = drm_mode_card_res { fb_id_ptr: CLIPS, count_fbs: 2, ..Default::default() };
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_GETRESOURCES, &mut args), None);
    assert_eq!((args.count_fbs, args.max_width, args.max_height), (3, 16384, 16384));
    let mut listed = [0u32; 3];
    setup.process.load(CLIPS, bytes_of_mut(&mut listed)).unwrap();
    assert_eq!(listed, [ids[2], ids[1], 0]);
    args = drm_mode_card_res { fb_id_ptr: CLIPS, count_fbs: 2, ..Default::default() };
    assert_eq!(setup.ask(1, DRM_IOCTL_MODE_GETRESOURCES, &mut args), None);
    assert_eq!(args.count_fbs, 0);
    args = drm_mode_card_res { fb_id_ptr: 8, count_fbs: 1, ..Default::default() };
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_GETRESOURCES, &mut args), Some(Errno::EFAULT));
    assert_eq!(args.count_fbs, 1);
}

#[test]
fn without_a_display_there_are_no_framebuffers() {
    let mut setup = Setup::new("glk");
    let handle = setup.object(1);
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_ADDFB2, &mut picture(handle)), Some(Errno::EOPNOTSUPP));
    let mut args = drm_mode_fb_cmd2::default();
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_GETFB2, &mut args), EINVAL, "unlike all others");
    assert_eq!(setup.remove(0, 1), Some(Errno::EOPNOTSUPP));
}

#[test]
fn nothing_is_pretended_about_what_is_shown() {
    let mut setup = Setup::new("glk,display=on");
    let handle = setup.object(1);
    let fb_id = setup.framebuffer(handle);
    let mut flip = drm_mode_crtc_page_flip { crtc_id: 31, fb_id, ..Default::default() };
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_PAGE_FLIP, &mut flip), ENOENT);
    flip.flags = 0x10;
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_PAGE_FLIP, &mut flip), EINVAL);
    let mut crtc = drm_mode_crtc { fb_id, x: 1 << 16, ..Default::default() };
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_SETCRTC, &mut crtc), ERANGE);
    crtc.x = 0;
    assert_eq!(setup.ask(0, DRM_IOCTL_MODE_SETCRTC, &mut crtc), ENOENT);
    assert_eq!(setup.ask(1, DRM_IOCTL_MODE_SETCRTC, &mut crtc), Some(Errno::EACCES));
}
