//! `<drm/drm_mode.h>`: what is shown, and the buffers that can be.
//!
//! The structs of planes, properties and events are in [`super::drm_modeset`]. Requests for leases have the structs' sizes.
#![allow(non_upper_case_globals)]

use super::drm_modeset::*;
use super::{requests, structs, values};

structs! {
    /// The timing of a picture.
    drm_mode_modeinfo: 68 {
        /// Pixel clock, in kHz.
        clock @ 0: u32,
        /// Pixels of a line.
        hdisplay @ 4: u16,
        /// The start of the horizontal sync.
        hsync_start @ 6: u16,
        /// The end of the horizontal sync.
        hsync_end @ 8: u16,
        /// Pixels of a line, with what is not shown.
        htotal @ 10: u16,
        /// Not used by i915.
        hskew @ 12: u16,
        /// Lines of the picture.
        vdisplay @ 14: u16,
        /// The start of the vertical sync.
        vsync_start @ 16: u16,
        /// The end of the vertical sync.
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

    /// The resources of a display. Called twice: for the counts, and for the ids.
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

    /// The picture that a CRTC shows, and its place: the argument of SETCRTC and GETCRTC.
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
        /// Nonzero if `mode` is valid.
        mode_valid @ 32: u32,
        /// The timing of the picture.
        mode @ 36: drm_mode_modeinfo,
    }

    /// The description of an encoder, which stands between CRTCs and a connector.
    drm_mode_get_encoder: 20 {
        /// The encoder.
        encoder_id @ 0: u32,
        /// Back: `DRM_MODE_ENCODER_*`.
        encoder_type @ 4: u32,
        /// Back: the CRTC that drives it, or 0.
        crtc_id @ 8: u32,
        /// Back: which CRTCs can, by their places in the list.
        possible_crtcs @ 12: u32,
        /// Back: which encoders can show the same.
        possible_clones @ 16: u32,
    }

    /// The description of a connector. Called twice: for the counts, and for the counted items.
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

    /// A framebuffer of one plane, by depth and bits per pixel.
    drm_mode_fb_cmd: 28 {
        /// The framebuffer's id; back from ADDFB.
        fb_id @ 0: u32,
        /// Width, in pixels.
        width @ 4: u32,
        /// Height, in pixels.
        height @ 8: u32,
        /// Bytes from line to line.
        pitch @ 12: u32,
        /// Bits per pixel.
        bpp @ 16: u32,
        /// Bits of colour per pixel.
        depth @ 20: u32,
        /// The object; back from GETFB: another name of it.
        handle @ 24: u32,
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

    /// The argument of CLOSEFB.
    drm_mode_closefb: 8 {
        /// The framebuffer.
        fb_id @ 0: u32,
        /// Must be 0.
        pad @ 4: u32,
    }

    /// A CRTC's cursor: its picture, its place, or both.
    drm_mode_cursor: 28 {
        /// `DRM_MODE_CURSOR_*`.
        flags @ 0: u32,
        /// The CRTC.
        crtc_id @ 4: u32,
        /// The position of the cursor, from the left.
        x @ 8: i32,
        /// The position of the cursor, from the top.
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
    /// The picture is interlaced.
    DRM_MODE_FB_INTERLACED: u32 = 1 << 0;
    /// `modifier` of ADDFB2 counts.
    DRM_MODE_FB_MODIFIERS: u32 = 1 << 1;
    /// The rectangles are copied, in pairs of source and destination.
    DRM_MODE_FB_DIRTY_ANNOTATE_COPY: u32 = 0x01;
    /// Rectangles that a DIRTYFB takes at most.
    DRM_MODE_FB_DIRTY_MAX_CLIPS: u32 = 256;
    /// A DisplayPort connector.
    DRM_MODE_CONNECTOR_DisplayPort: u32 = 10;
    /// An HDMI connector of type A.
    DRM_MODE_CONNECTOR_HDMIA: u32 = 11;
    /// The screen prefers the mode.
    DRM_MODE_TYPE_PREFERRED: u32 = 1 << 3;
    /// The mode is userspace's.
    DRM_MODE_TYPE_USERDEF: u32 = 1 << 5;
    /// `handle`, `width` and `height` of CURSOR count.
    DRM_MODE_CURSOR_BO: u32 = 0x01;
    /// `x` and `y` of CURSOR count.
    DRM_MODE_CURSOR_MOVE: u32 = 0x02;
    /// The file gets an event when the flip is done.
    DRM_MODE_PAGE_FLIP_EVENT: u32 = 0x01;
}

requests! {
    /// Waits for a vertical blank, or asks for an event at one.
    DRM_IOCTL_WAIT_VBLANK = IOWR(b'd', 0x3a, drm_wait_vblank_reply) == 0xc018_643a;
    /// Asks which frame a CRTC shows.
    DRM_IOCTL_CRTC_GET_SEQUENCE = IOWR(b'd', 0x3b, drm_crtc_get_sequence) == 0xc018_643b;
    /// Asks for an event at a frame.
    DRM_IOCTL_CRTC_QUEUE_SEQUENCE = IOWR(b'd', 0x3c, drm_crtc_queue_sequence) == 0xc018_643c;
    /// Asks what a display has.
    DRM_IOCTL_MODE_GETRESOURCES = IOWR(b'd', 0xa0, drm_mode_card_res) == 0xc040_64a0;
    /// Asks what a CRTC shows.
    DRM_IOCTL_MODE_GETCRTC = IOWR(b'd', 0xa1, drm_mode_crtc) == 0xc068_64a1;
    /// Sets what a CRTC shows, and on which connectors.
    DRM_IOCTL_MODE_SETCRTC = IOWR(b'd', 0xa2, drm_mode_crtc) == 0xc068_64a2;
    /// Sets a CRTC's cursor.
    DRM_IOCTL_MODE_CURSOR = IOWR(b'd', 0xa3, drm_mode_cursor) == 0xc01c_64a3;
    /// Asks for a gamma table.
    DRM_IOCTL_MODE_GETGAMMA = IOWR(b'd', 0xa4, drm_mode_crtc_lut) == 0xc020_64a4;
    /// Sets a gamma table.
    DRM_IOCTL_MODE_SETGAMMA = IOWR(b'd', 0xa5, drm_mode_crtc_lut) == 0xc020_64a5;
    /// Asks what an encoder is.
    DRM_IOCTL_MODE_GETENCODER = IOWR(b'd', 0xa6, drm_mode_get_encoder) == 0xc014_64a6;
    /// Asks what a connector is.
    DRM_IOCTL_MODE_GETCONNECTOR = IOWR(b'd', 0xa7, drm_mode_get_connector) == 0xc050_64a7;
    /// Asks what a property is.
    DRM_IOCTL_MODE_GETPROPERTY = IOWR(b'd', 0xaa, drm_mode_get_property) == 0xc040_64aa;
    /// Sets a connector's property.
    DRM_IOCTL_MODE_SETPROPERTY = IOWR(b'd', 0xab, drm_mode_connector_set_property) == 0xc010_64ab;
    /// Asks for a property's bytes.
    DRM_IOCTL_MODE_GETPROPBLOB = IOWR(b'd', 0xac, drm_mode_get_blob) == 0xc010_64ac;
    /// Asks what a framebuffer is.
    DRM_IOCTL_MODE_GETFB = IOWR(b'd', 0xad, drm_mode_fb_cmd) == 0xc01c_64ad;
    /// Makes a framebuffer of one plane, by depth and bits per pixel.
    DRM_IOCTL_MODE_ADDFB = IOWR(b'd', 0xae, drm_mode_fb_cmd) == 0xc01c_64ae;
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
    /// Asks which planes there are.
    DRM_IOCTL_MODE_GETPLANERESOURCES = IOWR(b'd', 0xb5, drm_mode_get_plane_res) == 0xc010_64b5;
    /// Asks what a plane is.
    DRM_IOCTL_MODE_GETPLANE = IOWR(b'd', 0xb6, drm_mode_get_plane) == 0xc020_64b6;
    /// Sets what a plane shows.
    DRM_IOCTL_MODE_SETPLANE = IOWR(b'd', 0xb7, drm_mode_set_plane) == 0xc030_64b7;
    /// Makes a framebuffer.
    DRM_IOCTL_MODE_ADDFB2 = IOWR(b'd', 0xb8, drm_mode_fb_cmd2) == 0xc068_64b8;
    /// Asks for an object's properties.
    DRM_IOCTL_MODE_OBJ_GETPROPERTIES = IOWR(b'd', 0xb9, drm_mode_obj_get_properties) == 0xc020_64b9;
    /// Sets an object's property.
    DRM_IOCTL_MODE_OBJ_SETPROPERTY = IOWR(b'd', 0xba, drm_mode_obj_set_property) == 0xc018_64ba;
    /// Sets a CRTC's cursor and where it points.
    DRM_IOCTL_MODE_CURSOR2 = IOWR(b'd', 0xbb, drm_mode_cursor2) == 0xc024_64bb;
    /// Sets many properties at once.
    DRM_IOCTL_MODE_ATOMIC = IOWR(b'd', 0xbc, drm_mode_atomic) == 0xc038_64bc;
    /// Makes bytes for a property.
    DRM_IOCTL_MODE_CREATEPROPBLOB = IOWR(b'd', 0xbd, drm_mode_create_blob) == 0xc010_64bd;
    /// Removes them.
    DRM_IOCTL_MODE_DESTROYPROPBLOB = IOWR(b'd', 0xbe, drm_mode_destroy_blob) == 0xc004_64be;
    /// Leases objects of the display to another file.
    DRM_IOCTL_MODE_CREATE_LEASE = IOWR(b'd', 0xc6, [u8; 24]) == 0xc018_64c6;
    /// Lists the leases.
    DRM_IOCTL_MODE_LIST_LESSEES = IOWR(b'd', 0xc7, [u8; 16]) == 0xc010_64c7;
    /// Lists what is leased.
    DRM_IOCTL_MODE_GET_LEASE = IOWR(b'd', 0xc8, [u8; 16]) == 0xc010_64c8;
    /// Ends a lease.
    DRM_IOCTL_MODE_REVOKE_LEASE = IOWR(b'd', 0xc9, [u8; 4]) == 0xc004_64c9;
    /// Asks what a framebuffer of several planes is.
    DRM_IOCTL_MODE_GETFB2 = IOWR(b'd', 0xce, drm_mode_fb_cmd2) == 0xc068_64ce;
    /// Removes a framebuffer, and leaves on what shows it.
    DRM_IOCTL_MODE_CLOSEFB = IOWR(b'd', 0xd0, drm_mode_closefb) == 0xc008_64d0;
}
