//! `<drm/drm.h>` and `<drm/drm_mode.h>`: what every DRM driver answers.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::{requests, structs, values};

structs! {
    /// Which driver answers, and its version.
    drm_version: 64 {
        /// Major version.
        version_major @ 0: i32,
        /// Minor version.
        version_minor @ 4: i32,
        /// Patch level.
        version_patchlevel @ 8: i32,
        /// Padding.
        __pad0 @ 12: u32,
        /// Bytes at `name`; back: the name's full length.
        name_len @ 16: u64,
        /// Address the driver's name is copied to, without a final 0.
        name @ 24: u64,
        /// Bytes at `date`; back: the date's full length.
        date_len @ 32: u64,
        /// Address the driver's date is copied to.
        date @ 40: u64,
        /// Bytes at `desc`; back: the description's full length.
        desc_len @ 48: u64,
        /// Address the driver's description is copied to.
        desc @ 56: u64,
    }

    /// The argument of GET_UNIQUE.
    drm_unique: 16 {
        /// Bytes at `unique`; back: the name's length.
        unique_len @ 0: u64,
        /// Address the bus's name of the device is copied to.
        unique @ 8: u64,
    }

    /// The argument of GET_CLIENT.
    drm_client: 40 {
        /// Which client; there is only 0, the caller.
        idx @ 0: i32,
        /// Back: whether it is authenticated.
        auth @ 4: i32,
        /// Back: its process.
        pid @ 8: u64,
        /// Back: nobody's user id.
        uid @ 16: u64,
        /// Back: 0.
        magic @ 24: u64,
        /// Back: 0.
        iocs @ 32: u64,
    }

    /// A magic number, with which one client lets another prove itself.
    drm_auth: 4 {
        /// The number.
        magic @ 0: u32,
    }

    /// The argument of SET_VERSION; -1 asks for no version.
    drm_set_version: 16 {
        /// Interface, major.
        drm_di_major @ 0: i32,
        /// Interface, minor.
        drm_di_minor @ 4: i32,
        /// Driver, major.
        drm_dd_major @ 8: i32,
        /// Driver, minor.
        drm_dd_minor @ 12: i32,
    }

    /// The argument of GEM_CLOSE.
    drm_gem_close: 8 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
    }

    /// The argument of GEM_FLINK.
    drm_gem_flink: 8 {
        /// The object's name in this file.
        handle @ 0: u32,
        /// Back: its name in all files.
        name @ 4: u32,
    }

    /// The argument of GEM_OPEN.
    drm_gem_open: 16 {
        /// The object's name in all files.
        name @ 0: u32,
        /// Back: its name in this file.
        handle @ 4: u32,
        /// Back: its size, in bytes.
        size @ 8: u64,
    }

    /// The argument of GET_CAP.
    drm_get_cap: 16 {
        /// `DRM_CAP_*`.
        capability @ 0: u64,
        /// Back: the capability's value.
        value @ 8: u64,
    }

    /// The argument of SET_CLIENT_CAP.
    drm_set_client_cap: 16 {
        /// `DRM_CLIENT_CAP_*`.
        capability @ 0: u64,
        /// Whether the client can do it.
        value @ 8: u64,
    }

    /// The argument of PRIME_HANDLE_TO_FD and PRIME_FD_TO_HANDLE.
    drm_prime_handle: 12 {
        /// The object's name.
        handle @ 0: u32,
        /// `DRM_CLOEXEC`, `DRM_RDWR`; only for HANDLE_TO_FD.
        flags @ 4: u32,
        /// The dma-buf.
        fd @ 8: i32,
    }

    /// How a picture is timed.
    drm_mode_modeinfo: 68 {
        /// Pixel clock, in kHz.
        clock @ 0: u32,
        /// Pixels of a line.
        hdisplay @ 4: u16,
        /// Where the horizontal sync starts.
        hsync_start @ 6: u16,
        /// Where it ends.
        hsync_end @ 8: u16,
        /// Pixels of a line, with what is not shown.
        htotal @ 10: u16,
        /// Not used by i915.
        hskew @ 12: u16,
        /// Lines of the picture.
        vdisplay @ 14: u16,
        /// Where the vertical sync starts.
        vsync_start @ 16: u16,
        /// Where it ends.
        vsync_end @ 18: u16,
        /// Lines, with what is not shown.
        vtotal @ 20: u16,
        /// Not used by i915.
        vscan @ 22: u16,
        /// Pictures per second, rounded.
        vrefresh @ 24: u32,
        /// `DRM_MODE_FLAG_*`.
        flags @ 28: u32,
        /// `DRM_MODE_TYPE_*`.
        r#type @ 32: u32,
        /// The mode's name, with a final 0.
        name @ 36: [u8; 32],
    }

    /// What a display has. Called twice: for the counts, and for the ids.
    drm_mode_card_res: 64 {
        /// Address that framebuffers' ids are copied to.
        fb_id_ptr @ 0: u64,
        /// Address that the ids of CRTCs are copied to.
        crtc_id_ptr @ 8: u64,
        /// Address that connectors' ids are copied to.
        connector_id_ptr @ 16: u64,
        /// Address that encoders' ids are copied to.
        encoder_id_ptr @ 24: u64,
        /// Ids at `fb_id_ptr`; back: how many framebuffers this file has.
        count_fbs @ 32: u32,
        /// Ids at `crtc_id_ptr`; back: how many there are.
        count_crtcs @ 36: u32,
        /// Ids at `connector_id_ptr`; back: how many there are.
        count_connectors @ 40: u32,
        /// Ids at `encoder_id_ptr`; back: how many there are.
        count_encoders @ 44: u32,
        /// Back: a framebuffer's smallest width, in pixels.
        min_width @ 48: u32,
        /// Back: its largest width.
        max_width @ 52: u32,
        /// Back: its smallest height.
        min_height @ 56: u32,
        /// Back: its largest height.
        max_height @ 60: u32,
    }

    /// What a CRTC shows, and where: the argument of SETCRTC and GETCRTC.
    drm_mode_crtc: 104 {
        /// Address of the connectors' ids.
        set_connectors_ptr @ 0: u64,
        /// Ids at `set_connectors_ptr`.
        count_connectors @ 8: u32,
        /// The CRTC.
        crtc_id @ 12: u32,
        /// The framebuffer; 0 for none.
        fb_id @ 16: u32,
        /// First pixel of a line that is shown.
        x @ 20: u32,
        /// First line that is shown.
        y @ 24: u32,
        /// Back, from GETCRTC: entries of the gamma table.
        gamma_size @ 28: u32,
        /// Whether `mode` counts.
        mode_valid @ 32: u32,
        /// How the picture is timed.
        mode @ 36: drm_mode_modeinfo,
    }

    /// What a connector is. Called twice: for the counts, and for what is counted.
    drm_mode_get_connector: 80 {
        /// Address that encoders' ids are copied to.
        encoders_ptr @ 0: u64,
        /// Address that modes are copied to.
        modes_ptr @ 8: u64,
        /// Address that properties' ids are copied to.
        props_ptr @ 16: u64,
        /// Address that properties' values are copied to.
        prop_values_ptr @ 24: u64,
        /// Modes at `modes_ptr`, 0 to have them probed; back: how many there are.
        count_modes @ 32: u32,
        /// Properties at `props_ptr`; back: how many there are.
        count_props @ 36: u32,
        /// Ids at `encoders_ptr`; back: how many there are.
        count_encoders @ 40: u32,
        /// Back: the encoder in use, or 0.
        encoder_id @ 44: u32,
        /// The connector.
        connector_id @ 48: u32,
        /// Back: `DRM_MODE_CONNECTOR_*`.
        connector_type @ 52: u32,
        /// Back: which one of its type.
        connector_type_id @ 56: u32,
        /// Back: 1 connected, 2 not, 3 unknown.
        connection @ 60: u32,
        /// Back: the picture's width, in millimetres.
        mm_width @ 64: u32,
        /// Back: its height.
        mm_height @ 68: u32,
        /// Back: how a pixel's colours lie.
        subpixel @ 72: u32,
        /// Padding.
        pad @ 76: u32,
    }

    /// A framebuffer over up to four objects.
    drm_mode_fb_cmd2: 104 {
        /// Back: the framebuffer's id.
        fb_id @ 0: u32,
        /// Width, in pixels.
        width @ 4: u32,
        /// Height, in pixels.
        height @ 8: u32,
        /// `DRM_FORMAT_*`.
        pixel_format @ 12: u32,
        /// `DRM_MODE_FB_*`.
        flags @ 16: u32,
        /// The objects, one per plane; 0 for an unused plane.
        handles @ 20: [u32; 4],
        /// Bytes from line to line, per plane.
        pitches @ 36: [u32; 4],
        /// Bytes to the first line, per plane.
        offsets @ 52: [u32; 4],
        /// Padding.
        __pad0 @ 68: u32,
        /// `DRM_FORMAT_MOD_*`, per plane; only with `DRM_MODE_FB_MODIFIERS`.
        modifier @ 72: [u64; 4],
    }

    /// Which part of a framebuffer was written.
    drm_mode_fb_dirty_cmd: 24 {
        /// The framebuffer.
        fb_id @ 0: u32,
        /// `DRM_MODE_FB_DIRTY_*`.
        flags @ 4: u32,
        /// Fill colour, for `DRM_MODE_FB_DIRTY_ANNOTATE_FILL`.
        color @ 8: u32,
        /// Rectangles at `clips_ptr`; 0 for the whole.
        num_clips @ 12: u32,
        /// Address of the rectangles.
        clips_ptr @ 16: u64,
    }

    /// A CRTC's cursor: its picture, its place, or both.
    drm_mode_cursor: 28 {
        /// `DRM_MODE_CURSOR_*`.
        flags @ 0: u32,
        /// The CRTC.
        crtc_id @ 4: u32,
        /// Where the cursor is, from the left.
        x @ 8: i32,
        /// Where the cursor is, from the top.
        y @ 12: i32,
        /// Its width, in pixels.
        width @ 16: u32,
        /// Its height.
        height @ 20: u32,
        /// The object that holds the picture; 0 for no cursor.
        handle @ 24: u32,
    }

    /// Another framebuffer for a CRTC, from its next vertical blank on.
    drm_mode_crtc_page_flip: 24 {
        /// The CRTC.
        crtc_id @ 0: u32,
        /// The framebuffer.
        fb_id @ 4: u32,
        /// `DRM_MODE_PAGE_FLIP_*`.
        flags @ 8: u32,
        /// Must be 0.
        reserved @ 12: u32,
        /// Comes back with the event.
        user_data @ 16: u64,
    }

    /// A linear buffer that the display can show.
    drm_mode_create_dumb: 32 {
        /// Height, in pixels.
        height @ 0: u32,
        /// Width, in pixels.
        width @ 4: u32,
        /// Bits per pixel.
        bpp @ 8: u32,
        /// Must be 0.
        flags @ 12: u32,
        /// Back: the object's name.
        handle @ 16: u32,
        /// Back: bytes from line to line.
        pitch @ 20: u32,
        /// Back: the object's size, in bytes.
        size @ 24: u64,
    }

    /// The mmap(2) offset of a dumb buffer.
    drm_mode_map_dumb: 16 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
        /// Back: the offset.
        offset @ 8: u64,
    }

    /// The argument of DESTROY_DUMB.
    drm_mode_destroy_dumb: 4 {
        /// The object's name.
        handle @ 0: u32,
    }
}

values! {
    /// Whether dumb buffers can be made.
    DRM_CAP_DUMB_BUFFER: u64 = 0x1;
    /// Which directions of PRIME work: `DRM_PRIME_CAP_*`.
    DRM_CAP_PRIME: u64 = 0x5;
    /// Vertical blanks of more than two pipes can be waited for.
    DRM_CAP_VBLANK_HIGH_CRTC: u64 = 0x2;
    /// The depth that dumb buffers should have.
    DRM_CAP_DUMB_PREFERRED_DEPTH: u64 = 0x3;
    /// Whether drawing beside a dumb buffer is faster.
    DRM_CAP_DUMB_PREFER_SHADOW: u64 = 0x4;
    /// Timestamps come from the monotonic clock.
    DRM_CAP_TIMESTAMP_MONOTONIC: u64 = 0x6;
    /// Page flips need not wait for the vertical blank.
    DRM_CAP_ASYNC_PAGE_FLIP: u64 = 0x7;
    /// Width of the largest cursor.
    DRM_CAP_CURSOR_WIDTH: u64 = 0x8;
    /// Height of the largest cursor.
    DRM_CAP_CURSOR_HEIGHT: u64 = 0x9;
    /// `modifier` of ADDFB2 may count.
    DRM_CAP_ADDFB2_MODIFIERS: u64 = 0x10;
    /// Page flips may name their vertical blank.
    DRM_CAP_PAGE_FLIP_TARGET: u64 = 0x11;
    /// Events name their pipe.
    DRM_CAP_CRTC_IN_VBLANK_EVENT: u64 = 0x12;
    /// There are synchronization objects.
    DRM_CAP_SYNCOBJ: u64 = 0x13;
    /// They may be timelines.
    DRM_CAP_SYNCOBJ_TIMELINE: u64 = 0x14;
    /// As `DRM_CAP_ASYNC_PAGE_FLIP`, for atomic commits.
    DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP: u64 = 0x15;
    /// Knows modes with two images.
    DRM_CLIENT_CAP_STEREO_3D: u64 = 1;
    /// Wants to see all planes.
    DRM_CLIENT_CAP_UNIVERSAL_PLANES: u64 = 2;
    /// Makes atomic commits; 2: also ones that X would not.
    DRM_CLIENT_CAP_ATOMIC: u64 = 3;
    /// Knows aspect ratios of modes.
    DRM_CLIENT_CAP_ASPECT_RATIO: u64 = 4;
    /// Knows connectors that write to memory.
    DRM_CLIENT_CAP_WRITEBACK_CONNECTORS: u64 = 5;
    /// Sets the hotspot of virtual cursors.
    DRM_CLIENT_CAP_CURSOR_PLANE_HOTSPOT: u64 = 6;
    /// dma-bufs can be imported.
    DRM_PRIME_CAP_IMPORT: u64 = 0x1;
    /// Objects can be exported.
    DRM_PRIME_CAP_EXPORT: u64 = 0x2;
    /// The dma-buf is closed by exec (`O_CLOEXEC`).
    DRM_CLOEXEC: u32 = 0o2000000;
    /// The dma-buf can be mapped for writing (`O_RDWR`).
    DRM_RDWR: u32 = 0o2;
    /// `modifier` of ADDFB2 counts.
    DRM_MODE_FB_MODIFIERS: u32 = 1 << 1;
    /// An HDMI connector of type A.
    DRM_MODE_CONNECTOR_HDMIA: u32 = 11;
    /// `handle`, `width` and `height` of CURSOR count.
    DRM_MODE_CURSOR_BO: u32 = 0x01;
    /// The file gets an event when the flip is done.
    DRM_MODE_PAGE_FLIP_EVENT: u32 = 0x01;
}

requests! {
    /// Asks which driver answers.
    DRM_IOCTL_VERSION = IOWR(b'd', 0x00, drm_version) == 0xc040_6400;
    /// Asks for the bus's name of the device.
    DRM_IOCTL_GET_UNIQUE = IOWR(b'd', 0x01, drm_unique) == 0xc010_6401;
    /// Asks for a number to prove oneself with.
    DRM_IOCTL_GET_MAGIC = IOR(b'd', 0x02, drm_auth) == 0x8004_6402;
    /// Asks who is a client.
    DRM_IOCTL_GET_CLIENT = IOWR(b'd', 0x05, drm_client) == 0xc028_6405;
    /// Says which versions the client wants.
    DRM_IOCTL_SET_VERSION = IOWR(b'd', 0x07, drm_set_version) == 0xc010_6407;
    /// Gives an object's name back.
    DRM_IOCTL_GEM_CLOSE = IOW(b'd', 0x09, drm_gem_close) == 0x4008_6409;
    /// Names an object for all files.
    DRM_IOCTL_GEM_FLINK = IOWR(b'd', 0x0a, drm_gem_flink) == 0xc008_640a;
    /// Opens an object by its name for all files.
    DRM_IOCTL_GEM_OPEN = IOWR(b'd', 0x0b, drm_gem_open) == 0xc010_640b;
    /// Asks for a capability of the driver.
    DRM_IOCTL_GET_CAP = IOWR(b'd', 0x0c, drm_get_cap) == 0xc010_640c;
    /// Says what the client can do.
    DRM_IOCTL_SET_CLIENT_CAP = IOW(b'd', 0x0d, drm_set_client_cap) == 0x4010_640d;
    /// Believes the client with that number.
    DRM_IOCTL_AUTH_MAGIC = IOW(b'd', 0x11, drm_auth) == 0x4004_6411;
    /// Makes the file the device's master.
    DRM_IOCTL_SET_MASTER = IO(b'd', 0x1e, ()) == 0x641e;
    /// Leaves the device without a master.
    DRM_IOCTL_DROP_MASTER = IO(b'd', 0x1f, ()) == 0x641f;
    /// Makes a dma-buf of an object.
    DRM_IOCTL_PRIME_HANDLE_TO_FD = IOWR(b'd', 0x2d, drm_prime_handle) == 0xc00c_642d;
    /// Names the object behind a dma-buf.
    DRM_IOCTL_PRIME_FD_TO_HANDLE = IOWR(b'd', 0x2e, drm_prime_handle) == 0xc00c_642e;
    /// Asks what a display has.
    DRM_IOCTL_MODE_GETRESOURCES = IOWR(b'd', 0xa0, drm_mode_card_res) == 0xc040_64a0;
    /// Asks what a CRTC shows.
    DRM_IOCTL_MODE_GETCRTC = IOWR(b'd', 0xa1, drm_mode_crtc) == 0xc068_64a1;
    /// Sets what a CRTC shows, and on which connectors.
    DRM_IOCTL_MODE_SETCRTC = IOWR(b'd', 0xa2, drm_mode_crtc) == 0xc068_64a2;
    /// Sets a CRTC's cursor.
    DRM_IOCTL_MODE_CURSOR = IOWR(b'd', 0xa3, drm_mode_cursor) == 0xc01c_64a3;
    /// Asks what a connector is.
    DRM_IOCTL_MODE_GETCONNECTOR = IOWR(b'd', 0xa7, drm_mode_get_connector) == 0xc050_64a7;
    /// Removes a framebuffer.
    DRM_IOCTL_MODE_RMFB = IOWR(b'd', 0xaf, u32) == 0xc004_64af;
    /// Shows another framebuffer from the next vertical blank on.
    DRM_IOCTL_MODE_PAGE_FLIP = IOWR(b'd', 0xb0, drm_mode_crtc_page_flip) == 0xc018_64b0;
    /// Says that a framebuffer was written.
    DRM_IOCTL_MODE_DIRTYFB = IOWR(b'd', 0xb1, drm_mode_fb_dirty_cmd) == 0xc018_64b1;
    /// Makes a dumb buffer.
    DRM_IOCTL_MODE_CREATE_DUMB = IOWR(b'd', 0xb2, drm_mode_create_dumb) == 0xc020_64b2;
    /// Asks for a dumb buffer's mmap(2) offset.
    DRM_IOCTL_MODE_MAP_DUMB = IOWR(b'd', 0xb3, drm_mode_map_dumb) == 0xc010_64b3;
    /// Closes a dumb buffer.
    DRM_IOCTL_MODE_DESTROY_DUMB = IOWR(b'd', 0xb4, drm_mode_destroy_dumb) == 0xc004_64b4;
    /// Makes a framebuffer.
    DRM_IOCTL_MODE_ADDFB2 = IOWR(b'd', 0xb8, drm_mode_fb_cmd2) == 0xc068_64b8;
}
