//! `<drm/drm_mode.h>` and `<drm/drm.h>`: planes, properties, atomic commits, vertical blanks and events.
//!
//! The requests that take these structs are in [`super::drm_display`].

use super::{structs, values};

structs! {
    /// A CRTC's gamma table: the argument of GETGAMMA and SETGAMMA.
    drm_mode_crtc_lut: 32 {
        /// The CRTC.
        crtc_id @ 0: u32,
        /// Entries of each colour's table.
        gamma_size @ 4: u32,
        /// Address of the `u16` entries for red.
        red @ 8: u64,
        /// Address of those for green.
        green @ 16: u64,
        /// Address of those for blue.
        blue @ 24: u64,
    }

    /// The description of a property. Called twice: for the counts, and for the counted items.
    drm_mode_get_property: 64 {
        /// Address that values are copied to: limits, or the numbers of an enumeration.
        values_ptr @ 0: u64,
        /// Address that an enumeration's items are copied to.
        enum_blob_ptr @ 8: u64,
        /// The property.
        prop_id @ 16: u32,
        /// Back: `DRM_MODE_PROP_*`.
        flags @ 20: u32,
        /// Back: its name, with a final 0.
        name @ 24: [u8; 32],
        /// Values at `values_ptr`; back: how many there are.
        count_values @ 56: u32,
        /// Items at `enum_blob_ptr`; back: how many there are.
        count_enum_blobs @ 60: u32,
    }

    /// An item of an enumeration.
    drm_mode_property_enum: 40 {
        /// Its number.
        value @ 0: u64,
        /// Its name, with a final 0.
        name @ 8: [u8; 32],
    }

    /// A new value of a connector's property.
    drm_mode_connector_set_property: 16 {
        /// The value.
        value @ 0: u64,
        /// The property.
        prop_id @ 8: u32,
        /// The connector.
        connector_id @ 12: u32,
    }

    /// The properties of an object. Called twice: for the count, and for the counted items.
    drm_mode_obj_get_properties: 32 {
        /// Address that properties' ids are copied to.
        props_ptr @ 0: u64,
        /// Address that properties' values are copied to.
        prop_values_ptr @ 8: u64,
        /// Properties at `props_ptr`; back: how many there are.
        count_props @ 16: u32,
        /// The object.
        obj_id @ 20: u32,
        /// `DRM_MODE_OBJECT_*`.
        obj_type @ 24: u32,
        /// Padding.
        __pad0 @ 28: u32,
    }

    /// A new value of an object's property.
    drm_mode_obj_set_property: 24 {
        /// The value.
        value @ 0: u64,
        /// The property.
        prop_id @ 8: u32,
        /// The object.
        obj_id @ 12: u32,
        /// `DRM_MODE_OBJECT_*`.
        obj_type @ 16: u32,
        /// Padding.
        __pad0 @ 20: u32,
    }

    /// The bytes of a blob. Called twice: for the length, and for the bytes.
    drm_mode_get_blob: 16 {
        /// The blob.
        blob_id @ 0: u32,
        /// Bytes at `data`; back: the blob's length.
        length @ 4: u32,
        /// Address that the bytes are copied to, if `length` is the blob's.
        data @ 8: u64,
    }

    /// A new blob.
    drm_mode_create_blob: 16 {
        /// Address of its bytes.
        data @ 0: u64,
        /// Its length in bytes.
        length @ 8: u32,
        /// Back: its id.
        blob_id @ 12: u32,
    }

    /// The argument of DESTROYPROPBLOB.
    drm_mode_destroy_blob: 4 {
        /// The blob.
        blob_id @ 0: u32,
    }

    /// The planes of a display. Called twice: for the count, and for the ids.
    drm_mode_get_plane_res: 16 {
        /// Address that planes' ids are copied to.
        plane_id_ptr @ 0: u64,
        /// Ids at `plane_id_ptr`; back: how many there are.
        count_planes @ 8: u32,
        /// Padding.
        __pad0 @ 12: u32,
    }

    /// The description of a plane. Called twice: for the count of formats, and for the formats.
    drm_mode_get_plane: 32 {
        /// The plane.
        plane_id @ 0: u32,
        /// Back: the CRTC that shows it, or 0.
        crtc_id @ 4: u32,
        /// Back: the framebuffer that it shows, or 0.
        fb_id @ 8: u32,
        /// Back: which CRTCs can show it, by their places in the list.
        possible_crtcs @ 12: u32,
        /// Back: 0.
        gamma_size @ 16: u32,
        /// Formats at `format_type_ptr`; back: how many there are.
        count_format_types @ 20: u32,
        /// Address that formats are copied to.
        format_type_ptr @ 24: u64,
    }

    /// The picture that a plane shows, and its place.
    drm_mode_set_plane: 48 {
        /// The plane.
        plane_id @ 0: u32,
        /// The CRTC.
        crtc_id @ 4: u32,
        /// The framebuffer; 0 for none.
        fb_id @ 8: u32,
        /// Not used by i915.
        flags @ 12: u32,
        /// Place on the screen, from the left.
        crtc_x @ 16: i32,
        /// Place on the screen, from the top.
        crtc_y @ 20: i32,
        /// Width on the screen.
        crtc_w @ 24: u32,
        /// Height on the screen.
        crtc_h @ 28: u32,
        /// First column of the framebuffer, in 1/65536 pixels.
        src_x @ 32: u32,
        /// First line, in 1/65536 pixels.
        src_y @ 36: u32,
        /// Lines, in 1/65536 pixels.
        src_h @ 40: u32,
        /// Columns, in 1/65536 pixels.
        src_w @ 44: u32,
    }

    /// A CRTC's cursor, and its pixel that points.
    drm_mode_cursor2: 36 {
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
        /// The pixel that points, from the left.
        hot_x @ 28: i32,
        /// The pixel that points, from the top.
        hot_y @ 32: i32,
    }

    /// Many properties to set at once.
    drm_mode_atomic: 56 {
        /// `DRM_MODE_ATOMIC_*`, `DRM_MODE_PAGE_FLIP_EVENT` and `DRM_MODE_PAGE_FLIP_ASYNC`.
        flags @ 0: u32,
        /// Ids at `objs_ptr`.
        count_objs @ 4: u32,
        /// Address of the objects' ids.
        objs_ptr @ 8: u64,
        /// Address of the number of properties of each object.
        count_props_ptr @ 16: u64,
        /// Address of the properties' ids, of all objects in turn.
        props_ptr @ 24: u64,
        /// Address of the properties' values.
        prop_values_ptr @ 32: u64,
        /// Must be 0.
        reserved @ 40: u64,
        /// Comes back with the event.
        user_data @ 48: u64,
    }

    /// An entry of a gamma table in a blob.
    drm_color_lut: 8 {
        /// Red.
        red @ 0: u16,
        /// Green.
        green @ 2: u16,
        /// Blue.
        blue @ 4: u16,
        /// Not used.
        reserved @ 6: u16,
    }

    /// The head of the blob of formats and modifiers that a plane shows.
    drm_format_modifier_blob: 24 {
        /// `FORMAT_BLOB_CURRENT`.
        version @ 0: u32,
        /// 0.
        flags @ 4: u32,
        /// Number of formats, each a `u32`.
        count_formats @ 8: u32,
        /// Bytes from the head to the formats.
        formats_offset @ 12: u32,
        /// Number of modifiers.
        count_modifiers @ 16: u32,
        /// Bytes from the head to the modifiers.
        modifiers_offset @ 20: u32,
    }

    /// A modifier in such a blob.
    drm_format_modifier: 24 {
        /// The formats that it goes with, by their places in the list.
        formats @ 0: u64,
        /// The place of the first bit.
        offset @ 8: u32,
        /// 0.
        pad @ 12: u32,
        /// `DRM_FORMAT_MOD_*`.
        modifier @ 16: u64,
    }

    /// The argument of WAIT_VBLANK, as the kernel returns it. The caller's `signal` is at [`Self::tval_sec`].
    drm_wait_vblank_reply: 24 {
        /// `_DRM_VBLANK_*`.
        r#type @ 0: u32,
        /// The vertical blank's number.
        sequence @ 4: u32,
        /// Its time in seconds of the monotonic clock.
        tval_sec @ 8: i64,
        /// The rest, in microseconds.
        tval_usec @ 16: i64,
    }

    /// The last vertical blank of a CRTC.
    drm_crtc_get_sequence: 24 {
        /// The CRTC.
        crtc_id @ 0: u32,
        /// Back: 1 if the CRTC has a mode.
        active @ 4: u32,
        /// Back: the vertical blank's number.
        sequence @ 8: u64,
        /// Back: its time in nanoseconds of the monotonic clock.
        sequence_ns @ 16: i64,
    }

    /// The vertical blank at which the file gets an event.
    drm_crtc_queue_sequence: 24 {
        /// The CRTC.
        crtc_id @ 0: u32,
        /// `DRM_CRTC_SEQUENCE_*`.
        flags @ 4: u32,
        /// The vertical blank's number; back: the absolute one.
        sequence @ 8: u64,
        /// Comes back with the event.
        user_data @ 16: u64,
    }

    /// The head of an event that a device's file is read for.
    drm_event: 8 {
        /// `DRM_EVENT_*`.
        r#type @ 0: u32,
        /// Bytes of the event with its head.
        length @ 4: u32,
    }

    /// The event of a vertical blank or of a flip.
    drm_event_vblank: 32 {
        /// The head.
        base @ 0: drm_event,
        /// The request's.
        user_data @ 8: u64,
        /// The vertical blank's time in seconds of the monotonic clock.
        tv_sec @ 16: u32,
        /// The rest, in microseconds.
        tv_usec @ 20: u32,
        /// The vertical blank's number.
        sequence @ 24: u32,
        /// The CRTC.
        crtc_id @ 28: u32,
    }

    /// The event that CRTC_QUEUE_SEQUENCE asked for.
    drm_event_crtc_sequence: 32 {
        /// The head.
        base @ 0: drm_event,
        /// The request's.
        user_data @ 8: u64,
        /// The vertical blank's time in nanoseconds of the monotonic clock.
        time_ns @ 16: i64,
        /// The vertical blank's number.
        sequence @ 24: u64,
    }
}

values! {
    /// An object is a CRTC.
    DRM_MODE_OBJECT_CRTC: u32 = 0xcccc_cccc;
    /// An object is a connector.
    DRM_MODE_OBJECT_CONNECTOR: u32 = 0xc0c0_c0c0;
    /// An object is a framebuffer.
    DRM_MODE_OBJECT_FB: u32 = 0xfbfb_fbfb;
    /// An object is a plane.
    DRM_MODE_OBJECT_PLANE: u32 = 0xeeee_eeee;
    /// An object is of any type.
    DRM_MODE_OBJECT_ANY: u32 = 0;
    /// Values are between two limits.
    DRM_MODE_PROP_RANGE: u32 = 1 << 1;
    /// Only the kernel sets the property.
    DRM_MODE_PROP_IMMUTABLE: u32 = 1 << 2;
    /// Values are items of an enumeration.
    DRM_MODE_PROP_ENUM: u32 = 1 << 3;
    /// Values are blobs' ids.
    DRM_MODE_PROP_BLOB: u32 = 1 << 4;
    /// Values are objects' ids.
    DRM_MODE_PROP_OBJECT: u32 = 1 << 6;
    /// Values are between two limits, with signs.
    DRM_MODE_PROP_SIGNED_RANGE: u32 = 2 << 6;
    /// Only files see the property that make atomic commits.
    DRM_MODE_PROP_ATOMIC: u32 = 0x8000_0000;
    /// A flip need not wait for the vertical blank.
    DRM_MODE_PAGE_FLIP_ASYNC: u32 = 0x02;
    /// Flags that name the vertical blank of a flip.
    DRM_MODE_PAGE_FLIP_TARGET: u32 = 0xc;
    /// Flags of PAGE_FLIP.
    DRM_MODE_PAGE_FLIP_FLAGS: u32 = 0xf;
    /// A commit is only checked.
    DRM_MODE_ATOMIC_TEST_ONLY: u32 = 0x0100;
    /// A commit does not wait.
    DRM_MODE_ATOMIC_NONBLOCK: u32 = 0x0200;
    /// A commit may set modes.
    DRM_MODE_ATOMIC_ALLOW_MODESET: u32 = 0x0400;
    /// Flags of ATOMIC.
    DRM_MODE_ATOMIC_FLAGS: u32 = 0x0703;
    /// Flags of CURSOR.
    DRM_MODE_CURSOR_FLAGS: u32 = 0x03;
    /// The encoder of HDMI and DVI.
    DRM_MODE_ENCODER_TMDS: u32 = 2;
    /// The driver found the mode.
    DRM_MODE_TYPE_DRIVER: u32 = 1 << 6;
    /// Flags of a mode that are its aspect ratio.
    DRM_MODE_FLAG_PIC_AR_MASK: u32 = 0x0f << 19;
    /// The version of a plane's blob of formats.
    FORMAT_BLOB_CURRENT: u32 = 1;
    /// Numbers count from the last vertical blank on.
    _DRM_VBLANK_RELATIVE: u32 = 0x1;
    /// The bits of the CRTC's place in the list, if it is not one of the first two.
    _DRM_VBLANK_HIGH_CRTC_MASK: u32 = 0x3e;
    /// How far these bits are shifted.
    _DRM_VBLANK_HIGH_CRTC_SHIFT: u32 = 1;
    /// The file gets an event.
    _DRM_VBLANK_EVENT: u32 = 0x0400_0000;
    /// A missed vertical blank stands for the next one.
    _DRM_VBLANK_NEXTONMISS: u32 = 0x1000_0000;
    /// The second CRTC.
    _DRM_VBLANK_SECONDARY: u32 = 0x2000_0000;
    /// The process gets a signal, which no driver supports.
    _DRM_VBLANK_SIGNAL: u32 = 0x4000_0000;
    /// `sequence` counts from the last vertical blank on.
    DRM_CRTC_SEQUENCE_RELATIVE: u32 = 0x0000_0001;
    /// A missed vertical blank stands for the next one.
    DRM_CRTC_SEQUENCE_NEXT_ON_MISS: u32 = 0x0000_0002;
    /// A vertical blank passed.
    DRM_EVENT_VBLANK: u32 = 0x01;
    /// A flip is done.
    DRM_EVENT_FLIP_COMPLETE: u32 = 0x02;
    /// A vertical blank passed that CRTC_QUEUE_SEQUENCE named.
    DRM_EVENT_CRTC_SEQUENCE: u32 = 0x03;
}
