//! The properties of CRTCs, planes and connectors (`drm_mode_config.c`).
//!
//! Not simulated: those that depend on the platform's hardware, as rotation, blending, colour spaces, and content
//! protection.

use gem_coherency_uapi::drm_modeset::{
    DRM_MODE_OBJECT_CRTC, DRM_MODE_OBJECT_FB, DRM_MODE_PROP_ATOMIC, DRM_MODE_PROP_BLOB, DRM_MODE_PROP_ENUM,
    DRM_MODE_PROP_IMMUTABLE, DRM_MODE_PROP_OBJECT, DRM_MODE_PROP_RANGE, DRM_MODE_PROP_SIGNED_RANGE,
};

/// Entries of a gamma table.
pub(crate) const GAMMA_SIZE: usize = 256;

/// The values of DPMS that turn a CRTC on and off.
pub(crate) const DPMS_ON: u64 = 0;
pub(crate) const DPMS_OFF: u64 = 3;

/// The values that a property may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// From one number to another.
    Range(u64, u64),
    /// From one number to another, with signs.
    Signed(i64, i64),
    /// The numbers of an enumeration, with their names.
    Enum(&'static [(u64, &'static str)]),
    /// Ids of blobs, or 0.
    Blob,
    /// Ids of objects of a type, or 0.
    Object(u32),
}

/// Declares the properties, with the lowest ids in order: `Variant = name, flags, values`.
macro_rules! properties {
    ($($variant:ident = $name:literal, $flags:expr, $values:expr;)+) => {
        /// A property.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Property { $($variant,)+ }

        impl Property {
            const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns its name.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the flags that do not follow from its values.
            fn own_flags(self) -> u32 {
                match self { $(Self::$variant => $flags,)+ }
            }

            /// Returns the values that it may have.
            pub(crate) fn values(self) -> Values {
                match self { $(Self::$variant => $values,)+ }
            }
        }
    };
}

const ATOMIC: u32 = DRM_MODE_PROP_ATOMIC;
const FIXED: u32 = DRM_MODE_PROP_IMMUTABLE;
const U32: Values = Values::Range(0, u32::MAX as u64);
const I31: Values = Values::Range(0, i32::MAX as u64);
const I32: Values = Values::Signed(i32::MIN as i64, i32::MAX as i64);
const BOOL: Values = Values::Range(0, 1);

properties! {
    Type = "type", FIXED, Values::Enum(&[(0, "Overlay"), (1, "Primary"), (2, "Cursor")]);
    FbId = "FB_ID", ATOMIC, Values::Object(DRM_MODE_OBJECT_FB);
    InFenceFd = "IN_FENCE_FD", ATOMIC, Values::Signed(-1, i32::MAX as i64);
    CrtcId = "CRTC_ID", ATOMIC, Values::Object(DRM_MODE_OBJECT_CRTC);
    CrtcX = "CRTC_X", ATOMIC, I32;
    CrtcY = "CRTC_Y", ATOMIC, I32;
    CrtcW = "CRTC_W", ATOMIC, I31;
    CrtcH = "CRTC_H", ATOMIC, I31;
    SrcX = "SRC_X", ATOMIC, U32;
    SrcY = "SRC_Y", ATOMIC, U32;
    SrcW = "SRC_W", ATOMIC, U32;
    SrcH = "SRC_H", ATOMIC, U32;
    InFormats = "IN_FORMATS", FIXED, Values::Blob;
    Active = "ACTIVE", ATOMIC, BOOL;
    ModeId = "MODE_ID", ATOMIC, Values::Blob;
    OutFencePtr = "OUT_FENCE_PTR", ATOMIC, Values::Range(0, u64::MAX);
    GammaLut = "GAMMA_LUT", 0, Values::Blob;
    GammaLutSize = "GAMMA_LUT_SIZE", FIXED, U32;
    Edid = "EDID", FIXED, Values::Blob;
    Dpms = "DPMS", 0, Values::Enum(&[(0, "On"), (1, "Standby"), (2, "Suspend"), (3, "Off")]);
    LinkStatus = "link-status", 0, Values::Enum(&[(0, "Good"), (1, "Bad")]);
    NonDesktop = "non-desktop", FIXED, BOOL;
    Tile = "TILE", FIXED, Values::Blob;
}

/// The properties of planes, CRTCs and connectors, in the order in which they are attached.
pub(crate) const OF_PLANES: &[Property] = &[
    Property::Type,
    Property::FbId,
    Property::InFenceFd,
    Property::CrtcId,
    Property::CrtcX,
    Property::CrtcY,
    Property::CrtcW,
    Property::CrtcH,
    Property::SrcX,
    Property::SrcY,
    Property::SrcW,
    Property::SrcH,
    Property::InFormats,
];
pub(crate) const OF_CRTCS: &[Property] =
    &[Property::Active, Property::ModeId, Property::OutFencePtr, Property::GammaLut, Property::GammaLutSize];
pub(crate) const OF_CONNECTORS: &[Property] = &[
    Property::Edid,
    Property::Dpms,
    Property::LinkStatus,
    Property::NonDesktop,
    Property::Tile,
    Property::CrtcId,
];

impl Property {
    /// Returns the property with this id.
    pub(crate) fn find(id: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|property| property.id() == id)
    }

    /// Returns its id; those of other objects are higher.
    pub(crate) fn id(self) -> u32 {
        self as u32 + 1
    }

    /// Returns `DRM_MODE_PROP_*`.
    pub(crate) fn flags(self) -> u32 {
        let kind = match self.values() {
            Values::Range(..) => DRM_MODE_PROP_RANGE,
            Values::Signed(..) => DRM_MODE_PROP_SIGNED_RANGE,
            Values::Enum(_) => DRM_MODE_PROP_ENUM,
            Values::Blob => DRM_MODE_PROP_BLOB,
            Values::Object(_) => DRM_MODE_PROP_OBJECT,
        };
        self.own_flags() | kind
    }

    /// Returns whether only files see it that make atomic commits.
    pub(crate) fn is_atomic(self) -> bool {
        self.own_flags() & ATOMIC != 0
    }

    /// Returns whether only the kernel sets it.
    pub(crate) fn is_fixed(self) -> bool {
        self.own_flags() & FIXED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_has_an_id_of_its_own_and_a_name_that_fits() {
        for (place, &property) in Property::ALL.iter().enumerate() {
            assert_eq!(property.id() as usize, place + 1);
            assert_eq!(Property::find(property.id()), Some(property));
            assert!(property.name().len() < 32);
        }
        assert_eq!(Property::find(0), None);
        assert_eq!(Property::find(Property::ALL.len() as u32 + 1), None);
    }

    #[test]
    fn flags_name_the_values_and_the_files_that_see_it() {
        assert_eq!(Property::Active.flags(), 0x8000_0002);
        assert_eq!(Property::CrtcX.flags(), 0x8000_0080);
        assert_eq!(Property::Type.flags(), 0x0c);
        assert_eq!(Property::GammaLut.flags(), 0x10);
    }
}
