//! Properties and blobs.

use bytemuck::{bytes_of, pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency_uapi::drm::DRM_CLIENT_CAP_ATOMIC;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_fourcc::*;
use gem_coherency_uapi::drm_modeset::*;

use crate::kms::{HOLE, Kms, LIST, LISTS, SMALL, plain};

#[test]
fn only_files_that_make_atomic_commits_see_the_properties_for_them() {
    let mut kms = Kms::new("tgl");
    let (crtc, connector) = (kms.crtcs[0], kms.connectors[0]);
    let names = |kms: &mut Kms, id| kms.properties(id).into_iter().map(|one| one.0).collect::<Vec<_>>();
    assert_eq!(names(&mut kms, crtc), ["GAMMA_LUT", "GAMMA_LUT_SIZE"]);
    let plain = ["EDID", "DPMS", "link-status", "non-desktop", "TILE"];
    assert_eq!(names(&mut kms, connector), plain);
    kms.client_cap(DRM_CLIENT_CAP_ATOMIC, 1);
    assert_eq!(names(&mut kms, crtc)[..3], ["ACTIVE", "MODE_ID", "OUT_FENCE_PTR"]);
    assert_eq!(names(&mut kms, connector)[5..], ["CRTC_ID"]);
    let primary = kms.planes()[0];
    let all = names(&mut kms, primary);
    assert_eq!((all.len(), all[0].as_str(), all[12].as_str()), (13, "type", "IN_FORMATS"));
    // The same through the connector.
    let args = drm_mode_get_connector { connector_id: connector, ..Default::default() };
    assert_eq!(kms.ok(DRM_IOCTL_MODE_GETCONNECTOR, args).count_props, 6);
}

#[test]
fn objects_without_properties_and_unknown_ones_are_refused() {
    let mut kms = Kms::new("tgl");
    let frame = kms.frame(64, 16, 0);
    let of = |obj_id, obj_type| drm_mode_obj_get_properties { obj_id, obj_type, ..Default::default() };
    let get = DRM_IOCTL_MODE_OBJ_GETPROPERTIES;
    kms.fails(get, of(frame.id, DRM_MODE_OBJECT_FB), Errno::EINVAL);
    kms.fails(get, of(frame.id, DRM_MODE_OBJECT_CRTC), Errno::ENOENT);
    kms.fails(get, of(0, DRM_MODE_OBJECT_ANY), Errno::ENOENT);
    let crtc = kms.crtcs[0];
    kms.fails(get, of(crtc, DRM_MODE_OBJECT_PLANE), Errno::ENOENT);
    let bad =
        drm_mode_obj_get_properties { count_props: 2, props_ptr: HOLE, ..of(crtc, DRM_MODE_OBJECT_CRTC) };
    kms.fails(get, bad, Errno::EFAULT);
    let short = drm_mode_obj_get_properties {
        count_props: 1,
        props_ptr: LISTS,
        prop_values_ptr: LISTS + LIST,
        ..of(crtc, DRM_MODE_OBJECT_ANY)
    };
    kms.process.store(LISTS, &[0; 8]).unwrap();
    assert_eq!(kms.ok(get, short).count_props, 2);
    assert_eq!(kms.list::<u32>(LISTS + 4, 1), [0], "as many as there is room for");
}

#[test]
fn a_property_tells_its_values() {
    let mut kms = Kms::new("tgl");
    kms.client_cap(DRM_CLIENT_CAP_ATOMIC, 1);
    let connector = kms.connectors[0];
    let dpms = kms.property(connector, "DPMS").0;
    let asked = drm_mode_get_property { prop_id: dpms, ..Default::default() };
    let counts = kms.ok(DRM_IOCTL_MODE_GETPROPERTY, asked);
    assert_eq!((counts.flags, counts.count_values, counts.count_enum_blobs), (DRM_MODE_PROP_ENUM, 4, 4));
    let lists = drm_mode_get_property { values_ptr: LISTS, enum_blob_ptr: LISTS + LIST, ..counts };
    kms.ok(DRM_IOCTL_MODE_GETPROPERTY, lists);
    assert_eq!(kms.list::<u64>(LISTS, 4), [0, 1, 2, 3]);
    let items: Vec<drm_mode_property_enum> = kms.list(LISTS + LIST, 4);
    assert_eq!((items[3].value, &items[3].name[..4]), (3, &b"Off\0"[..]));
    let crtc_id = kms.property(connector, "CRTC_ID").0;
    let args = drm_mode_get_property { prop_id: crtc_id, values_ptr: LISTS, count_values: 1, ..asked };
    let object = kms.ok(DRM_IOCTL_MODE_GETPROPERTY, args);
    assert_eq!(object.flags, DRM_MODE_PROP_ATOMIC | DRM_MODE_PROP_OBJECT);
    assert_eq!(kms.list::<u64>(LISTS, 1), [u64::from(DRM_MODE_OBJECT_CRTC)]);
    kms.fails(DRM_IOCTL_MODE_GETPROPERTY, drm_mode_get_property::default(), Errno::ENOENT);
    kms.fails(DRM_IOCTL_MODE_GETPROPERTY, drm_mode_get_property { values_ptr: HOLE, ..lists }, Errno::EFAULT);
    let items = drm_mode_get_property { enum_blob_ptr: HOLE, ..lists };
    kms.fails(DRM_IOCTL_MODE_GETPROPERTY, items, Errno::EFAULT);
}

#[test]
fn a_blob_belongs_to_the_file_that_created_it() {
    let mut kms = Kms::new("tgl");
    kms.process.store(LISTS, b"some bytes").unwrap();
    let create = drm_mode_create_blob { data: LISTS, length: 10, blob_id: 0 };
    let blob_id = kms.ok(DRM_IOCTL_MODE_CREATEPROPBLOB, create).blob_id;
    let asked = drm_mode_get_blob { blob_id, ..Default::default() };
    let (errno, counts) = kms.on(1, DRM_IOCTL_MODE_GETPROPBLOB, asked);
    assert_eq!((errno, counts.length), (None, 10));
    let short = drm_mode_get_blob { length: 9, data: HOLE, ..asked };
    assert_eq!(kms.ok(DRM_IOCTL_MODE_GETPROPBLOB, short).length, 10, "nothing is copied");
    kms.fails(DRM_IOCTL_MODE_GETPROPBLOB, drm_mode_get_blob { data: HOLE, ..counts }, Errno::EFAULT);
    kms.ok(DRM_IOCTL_MODE_GETPROPBLOB, drm_mode_get_blob { data: LISTS + LIST, ..counts });
    assert_eq!(kms.list::<u8>(LISTS + LIST, 10), b"some bytes");
    let destroy = drm_mode_destroy_blob { blob_id };
    assert_eq!(kms.on(1, DRM_IOCTL_MODE_DESTROYPROPBLOB, destroy).0, Some(Errno::EPERM));
    kms.ok(DRM_IOCTL_MODE_DESTROYPROPBLOB, destroy);
    kms.fails(DRM_IOCTL_MODE_DESTROYPROPBLOB, destroy, Errno::ENOENT);
    kms.fails(DRM_IOCTL_MODE_GETPROPBLOB, asked, Errno::ENOENT);
    let bad = |length, data| drm_mode_create_blob { data, length, blob_id: 0 };
    kms.fails(DRM_IOCTL_MODE_CREATEPROPBLOB, bad(0, LISTS), Errno::EINVAL);
    kms.fails(DRM_IOCTL_MODE_CREATEPROPBLOB, bad(u32::MAX, LISTS), Errno::EINVAL);
    kms.fails(DRM_IOCTL_MODE_CREATEPROPBLOB, bad(1 << 30, LISTS), Errno::EFAULT);
    kms.fails(DRM_IOCTL_MODE_CREATEPROPBLOB, bad(10, HOLE), Errno::EFAULT);
    let of_the_other = kms.on(1, DRM_IOCTL_MODE_CREATEPROPBLOB, create).1.blob_id;
    kms.process.close(kms.files[1]).unwrap();
    kms.fails(
        DRM_IOCTL_MODE_GETPROPBLOB,
        drm_mode_get_blob { blob_id: of_the_other, ..asked },
        Errno::ENOENT,
    );
}

#[test]
fn in_formats_lists_formats_with_their_modifiers() {
    let modifiers = |name: &str| {
        let mut kms = Kms::new(name);
        kms.client_cap(DRM_CLIENT_CAP_ATOMIC, 1);
        let primary = kms.planes()[0];
        let blob_id = kms.property(primary, "IN_FORMATS").1 as u32;
        let length =
            kms.ok(DRM_IOCTL_MODE_GETPROPBLOB, drm_mode_get_blob { blob_id, ..Default::default() }).length;
        kms.ok(DRM_IOCTL_MODE_GETPROPBLOB, drm_mode_get_blob { blob_id, length, data: LISTS });
        let bytes = kms.list::<u8>(LISTS, length);
        let head: drm_format_modifier_blob = pod_read_unaligned(&bytes[..24]);
        assert_eq!((head.version, head.formats_offset), (1, 24));
        assert_eq!(head.modifiers_offset + 24 * head.count_modifiers, length);
        let formats: Vec<u32> = kms.list(LISTS + 24, head.count_formats);
        let place = formats.iter().position(|&format| format == DRM_FORMAT_XRGB8888).unwrap();
        let all: Vec<drm_format_modifier> =
            kms.list(LISTS + u64::from(head.modifiers_offset), head.count_modifiers);
        let good = all.iter().filter(|one| one.formats & 1 << place != 0);
        good.map(|one| one.modifier).collect::<Vec<_>>()
    };
    assert_eq!(modifiers("hsw"), [I915_FORMAT_MOD_X_TILED, DRM_FORMAT_MOD_LINEAR]);
    assert!(modifiers("tgl").contains(&I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS));
    assert!(!modifiers("glk").contains(&I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS));
}

#[test]
fn dpms_turns_the_crtc_off_and_on() {
    let mut kms = Kms::new("tgl");
    let frame = kms.frame(64, 16, 3);
    let args = kms.mode_set(frame.id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    let connector_id = kms.connectors[0];
    let (prop_id, value) = kms.property(connector_id, "DPMS");
    assert_eq!(value, 0);
    let set = |value| drm_mode_connector_set_property { value, prop_id, connector_id };
    kms.ok(DRM_IOCTL_MODE_SETPROPERTY, set(1));
    assert_eq!(kms.crc(), Err(Errno::EBUSY));
    assert_eq!(kms.property(connector_id, "DPMS").1, 3, "all that is not on is off");
    let crtc = drm_mode_crtc { crtc_id: kms.crtcs[0], ..Default::default() };
    let crtc = kms.ok(DRM_IOCTL_MODE_GETCRTC, crtc);
    assert_eq!((crtc.mode_valid, crtc.fb_id), (1, frame.id), "its state stays");
    let flip = kms.flip(frame.id, 0);
    kms.fails(DRM_IOCTL_MODE_PAGE_FLIP, flip, Errno::EINVAL);
    kms.ok(DRM_IOCTL_MODE_SETPROPERTY, set(0));
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 3)])));
    kms.fails(DRM_IOCTL_MODE_SETPROPERTY, set(4), Errno::EINVAL);
    let edid = kms.property(connector_id, "EDID").0;
    let fixed = drm_mode_connector_set_property { value: 0, prop_id: edid, connector_id };
    kms.fails(DRM_IOCTL_MODE_SETPROPERTY, fixed, Errno::EINVAL);
    let wrong = drm_mode_connector_set_property { connector_id: kms.crtcs[0], ..set(0) };
    kms.fails(DRM_IOCTL_MODE_SETPROPERTY, wrong, Errno::ENOENT);
}

#[test]
fn an_object_of_a_plane_is_set_by_a_commit_of_its_own() {
    let mut kms = Kms::new("tgl");
    kms.client_cap(DRM_CLIENT_CAP_ATOMIC, 1);
    let frames = [1, 2].map(|byte| kms.frame(64, 16, byte));
    let args = kms.mode_set(frames[0].id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    let (obj_id, obj_type) = (kms.planes()[0], DRM_MODE_OBJECT_PLANE);
    let prop_id = kms.property(obj_id, "FB_ID").0;
    let set = drm_mode_obj_set_property { value: frames[1].id.into(), prop_id, obj_id, obj_type, __pad0: 0 };
    kms.ok(DRM_IOCTL_MODE_OBJ_SETPROPERTY, set);
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 2)])));
    let request = DRM_IOCTL_MODE_OBJ_SETPROPERTY;
    kms.fails(request, drm_mode_obj_set_property { value: 1, ..set }, Errno::EINVAL);
    kms.fails(request, drm_mode_obj_set_property { value: 0, ..set }, Errno::EINVAL);
    kms.fails(request, drm_mode_obj_set_property { prop_id: 999, ..set }, Errno::EINVAL);
    kms.fails(request, drm_mode_obj_set_property { obj_id: 1, ..set }, Errno::ENOENT);
    kms.fails(request, drm_mode_obj_set_property { obj_id: frames[0].id, obj_type: 0, ..set }, Errno::EINVAL);
    let mode_id = kms.property(kms.crtcs[0], "MODE_ID").1 as u32;
    let length = size_of::<drm_mode_modeinfo>() as u32;
    kms.ok(DRM_IOCTL_MODE_GETPROPBLOB, drm_mode_get_blob { blob_id: mode_id, length, data: LISTS });
    assert_eq!(kms.list::<u8>(LISTS, length), bytes_of(&SMALL));
}
