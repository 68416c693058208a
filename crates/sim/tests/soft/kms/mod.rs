//! A program that drives a display with numbered requests only, as libdrm does.

mod atomic;
mod dumb;
mod events;
mod masters;
mod modeset;
mod planes;
mod properties;

use std::time::{Duration, Instant};

use bytemuck::{Pod, bytes_of, bytes_of_mut, try_pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency::backend::display::Crtc;
use gem_coherency::vocabulary::Domains;
use gem_coherency_sim::{Crc, Minor, Pages, Process, SimDevice};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm::{DRM_IOCTL_SET_CLIENT_CAP, drm_set_client_cap};
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_fourcc::DRM_FORMAT_XRGB8888;
use gem_coherency_uapi::drm_modeset::*;
use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_SET_DOMAIN, drm_i915_gem_set_domain};

/// Addresses of a struct, and of lists.
const ARGS: u64 = 0x1_0000;
pub const LISTS: u64 = ARGS + 0x1000;
/// Bytes between two lists.
pub const LIST: u64 = 0x4000;
/// The first address that is not mapped.
pub const HOLE: u64 = LISTS + 8 * LIST;

/// A framebuffer of a dumb buffer, and the address of its mapping.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub handle: u32,
    pub id: u32,
    pub address: u64,
    pub bytes: u64,
}

/// A process with two files of a primary node, of which the first is the master's.
pub struct Kms {
    pub process: Process,
    pub files: [i32; 2],
    pub soft: SimDevice,
    pub crtcs: Vec<u32>,
    pub connectors: Vec<u32>,
}

impl Kms {
    #[track_caller]
    pub fn new(name: &str) -> Self {
        Self::on_device(SimDevice::open(&format!("sim:{name},display=on")).unwrap())
    }

    #[track_caller]
    pub fn on_device(soft: SimDevice) -> Self {
        let mut process = Process::default();
        let files = [process.open(&soft, Minor::Primary), process.open(&soft, Minor::Primary)];
        process.allocate(ARGS, HOLE - ARGS, Pages::ReadWrite).unwrap();
        let mut kms = Self { process, files, soft, crtcs: Vec::new(), connectors: Vec::new() };
        let counts = kms.ok(DRM_IOCTL_MODE_GETRESOURCES, drm_mode_card_res::default());
        let args = drm_mode_card_res {
            crtc_id_ptr: LISTS,
            connector_id_ptr: LISTS + LIST,
            count_crtcs: counts.count_crtcs,
            count_connectors: counts.count_connectors,
            ..Default::default()
        };
        let counts = kms.ok(DRM_IOCTL_MODE_GETRESOURCES, args);
        kms.crtcs = kms.list(LISTS, counts.count_crtcs);
        kms.connectors = kms.list(LISTS + LIST, counts.count_connectors);
        kms
    }

    /// Makes a request on a file; the struct comes back also when it fails.
    pub fn on<T: Pod>(&mut self, file: usize, request: Ioctl<T>, mut args: T) -> (Option<Errno>, T) {
        self.process.store(ARGS, bytes_of(&args)).unwrap();
        let done = self.process.ioctl(self.files[file], request.code, ARGS);
        self.process.load(ARGS, bytes_of_mut(&mut args)).unwrap();
        (done.err(), args)
    }

    /// Makes a request of the master's that succeeds.
    #[track_caller]
    pub fn ok<T: Pod>(&mut self, request: Ioctl<T>, args: T) -> T {
        let (errno, args) = self.on(0, request, args);
        assert_eq!(errno, None, "{}", request.name);
        args
    }

    /// Makes a request of the master's that fails.
    #[track_caller]
    pub fn fails<T: Pod>(&mut self, request: Ioctl<T>, args: T, errno: Errno) {
        assert_eq!(self.on(0, request, args).0, Some(errno), "{}", request.name);
    }

    /// Returns the values at an address.
    pub fn list<T: Pod>(&self, address: u64, count: u32) -> Vec<T> {
        let read = |index| {
            let mut value = T::zeroed();
            let place = address + u64::from(index) * size_of::<T>() as u64;
            self.process.load(place, bytes_of_mut(&mut value)).unwrap();
            value
        };
        (0..count).map(read).collect()
    }

    #[track_caller]
    pub fn client_cap(&mut self, capability: u64, value: u64) {
        self.ok(DRM_IOCTL_SET_CLIENT_CAP, drm_set_client_cap { capability, value });
    }

    /// The modes of the connected connector, the preferred one first.
    pub fn modes(&mut self) -> Vec<drm_mode_modeinfo> {
        let connector_id = self.connectors[0];
        let asked = drm_mode_get_connector { connector_id, ..Default::default() };
        let counts = self.ok(DRM_IOCTL_MODE_GETCONNECTOR, asked);
        let count_modes = counts.count_modes;
        let args = drm_mode_get_connector { connector_id, count_modes, modes_ptr: LISTS, ..asked };
        self.ok(DRM_IOCTL_MODE_GETCONNECTOR, args);
        self.list(LISTS, count_modes)
    }

    /// A framebuffer of a new dumb buffer, mapped as the kernel decides and filled with a byte.
    #[track_caller]
    pub fn frame(&mut self, width: u32, height: u32, byte: u8) -> Frame {
        let args = drm_mode_create_dumb { width, height, bpp: 32, ..Default::default() };
        let dumb = self.ok(DRM_IOCTL_MODE_CREATE_DUMB, args);
        let args = drm_mode_fb_cmd2 {
            width,
            height,
            pixel_format: DRM_FORMAT_XRGB8888,
            handles: [dumb.handle, 0, 0, 0],
            pitches: [dumb.pitch, 0, 0, 0],
            ..Default::default()
        };
        let id = self.ok(DRM_IOCTL_MODE_ADDFB2, args).fb_id;
        let args = drm_mode_map_dumb { handle: dumb.handle, ..Default::default() };
        let offset = self.ok(DRM_IOCTL_MODE_MAP_DUMB, args).offset;
        // The kernel's zeroes leave the CPU's cache before the program stores around it.
        let gtt = Domains::GTT.bits();
        let args = drm_i915_gem_set_domain { handle: dumb.handle, read_domains: gtt, write_domain: gtt };
        self.ok(DRM_IOCTL_I915_GEM_SET_DOMAIN, args);
        let address = self.process.mmap(dumb.size, Pages::ReadWrite, self.files[0], offset).unwrap();
        let frame = Frame { handle: dumb.handle, id, address, bytes: dumb.size };
        self.fill(frame, byte);
        frame
    }

    /// Stores a byte everywhere.
    pub fn fill(&mut self, frame: Frame, byte: u8) {
        self.process.store(frame.address, &vec![byte; frame.bytes as usize]).unwrap();
    }

    /// Calls `run` until it takes place between two vertical blanks of the first CRTC, with no event left.
    pub fn between_vblanks<T>(&mut self, mut run: impl FnMut(&mut Self) -> T) -> T {
        let asked = drm_crtc_get_sequence { crtc_id: self.crtcs[0], ..Default::default() };
        loop {
            let wait =
                drm_wait_vblank_reply { r#type: _DRM_VBLANK_RELATIVE, sequence: 1, ..Default::default() };
            self.ok(DRM_IOCTL_WAIT_VBLANK, wait);
            let before = self.ok(DRM_IOCTL_CRTC_GET_SEQUENCE, asked).sequence;
            let _ = self.process.read(self.files[0], 4096);
            let done = run(self);
            if self.ok(DRM_IOCTL_CRTC_GET_SEQUENCE, asked).sequence == before {
                return done;
            }
        }
    }

    /// A flip of the first CRTC that sends an event.
    pub fn flip(&self, fb_id: u32, user_data: u64) -> drm_mode_crtc_page_flip {
        let (crtc_id, flags) = (self.crtcs[0], DRM_MODE_PAGE_FLIP_EVENT);
        drm_mode_crtc_page_flip { crtc_id, fb_id, flags, user_data, ..Default::default() }
    }

    /// Sets the first mode of the screen on the first CRTC.
    #[track_caller]
    pub fn set_mode(&mut self, frame: Frame) {
        let mode = self.modes()[0];
        let args = self.mode_set(frame.id, mode);
        self.ok(DRM_IOCTL_MODE_SETCRTC, args);
    }

    /// The arguments of SETCRTC for the first CRTC and connector.
    pub fn mode_set(&mut self, fb_id: u32, mode: drm_mode_modeinfo) -> drm_mode_crtc {
        self.process.store(LISTS, bytes_of(&self.connectors[0])).unwrap();
        drm_mode_crtc {
            set_connectors_ptr: LISTS,
            count_connectors: 1,
            crtc_id: self.crtcs[0],
            fb_id,
            mode_valid: 1,
            mode,
            ..Default::default()
        }
    }

    /// The planes of the first CRTC, for a file that sees all.
    pub fn planes(&mut self) -> Vec<u32> {
        let room = drm_mode_get_plane_res { plane_id_ptr: LISTS, count_planes: 64, ..Default::default() };
        let count = self.ok(DRM_IOCTL_MODE_GETPLANERESOURCES, room).count_planes;
        let all: Vec<u32> = self.list(LISTS, count);
        let of_first = |id: &u32| {
            let args = drm_mode_get_plane { plane_id: *id, ..Default::default() };
            self.ok(DRM_IOCTL_MODE_GETPLANE, args).possible_crtcs == 1
        };
        all.into_iter().filter(of_first).collect()
    }

    /// The properties of an object: name, id, value.
    pub fn properties(&mut self, obj_id: u32) -> Vec<(String, u32, u64)> {
        let args = drm_mode_obj_get_properties {
            obj_id,
            count_props: 64,
            props_ptr: LISTS,
            prop_values_ptr: LISTS + LIST,
            ..Default::default()
        };
        let count = self.ok(DRM_IOCTL_MODE_OBJ_GETPROPERTIES, args).count_props;
        let ids: Vec<u32> = self.list(LISTS, count);
        let values: Vec<u64> = self.list(LISTS + LIST, count);
        let named = |(prop_id, value)| {
            let args = drm_mode_get_property { prop_id, ..Default::default() };
            let name = self.ok(DRM_IOCTL_MODE_GETPROPERTY, args).name;
            let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned();
            (name, prop_id, value)
        };
        ids.into_iter().zip(values).map(named).collect()
    }

    /// The id and the value of a property.
    #[track_caller]
    pub fn property(&mut self, obj_id: u32, name: &str) -> (u32, u64) {
        let found = self.properties(obj_id).into_iter().find(|one| one.0 == name);
        let (_, id, value) = found.unwrap_or_else(|| panic!("no {name}"));
        (id, value)
    }

    pub fn crc(&self) -> Result<u32, Errno> {
        self.soft.display_crc(Crtc(self.crtcs[0])).map_err(|error| error.errno())
    }

    /// Waits until the master's file can be read, and reads one event.
    #[track_caller]
    pub fn event(&self) -> Vec<u8> {
        let fd = self.files[0];
        let late = Instant::now() + Duration::from_secs(10);
        while !self.process.poll(fd).unwrap() {
            assert!(Instant::now() < late, "no event");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.process.read(fd, 32).unwrap()
    }

    /// As [`Self::event`], of a flip or a vertical blank.
    #[track_caller]
    pub fn vblank_event(&self) -> drm_event_vblank {
        try_pod_read_unaligned::<drm_event_vblank>(&self.event()).unwrap()
    }
}

/// A mode whose picture is read quickly.
pub const SMALL: drm_mode_modeinfo = drm_mode_modeinfo {
    clock: 1000,
    hdisplay: 64,
    hsync_start: 70,
    hsync_end: 75,
    htotal: 80,
    hskew: 0,
    vdisplay: 16,
    vsync_start: 17,
    vsync_end: 18,
    vtotal: 20,
    vscan: 0,
    vrefresh: 60,
    flags: 0,
    r#type: 0,
    name: [0; 32],
};

/// The CRC of pictures of one byte each.
pub fn plain(pictures: &[(u32, u32, u8)]) -> u32 {
    let mut crc = Crc::default();
    for &(width, height, byte) in pictures {
        crc.add(&vec![byte; (width * height * 4) as usize]);
    }
    crc.finish()
}
