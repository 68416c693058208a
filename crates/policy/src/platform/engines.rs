//! The engines that a platform offers to userspace, and the engine of each ring number of execbuf.

use super::{Driver, GraphicsVersion, Machine, Platform};

/// A class of engines (`enum drm_i915_gem_engine_class`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EngineClass {
    /// 3D and general purpose (RCS).
    Render,
    /// Copies (BCS).
    Copy,
    /// Video decoding and encoding (VCS).
    Video,
    /// Video enhancement (VECS).
    VideoEnhance,
    /// General purpose only (CCS).
    Compute,
}

impl EngineClass {
    /// Every class, by number.
    pub const ALL: &'static [Self] =
        &[Self::Render, Self::Copy, Self::Video, Self::VideoEnhance, Self::Compute];

    /// Returns the uAPI's number (`I915_ENGINE_CLASS_*`).
    pub const fn number(self) -> u16 {
        match self {
            Self::Render => 0,
            Self::Copy => 1,
            Self::Video => 2,
            Self::VideoEnhance => 3,
            Self::Compute => 4,
        }
    }
}

/// An engine's class and instance in the uAPI (`i915_engine_class_instance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Engine {
    /// Its class.
    pub class: EngineClass,
    /// The index within the class, from 0 without gaps.
    pub instance: u16,
}

/// The number of engines of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Engines {
    copy: u16,
    video: u16,
    video_enhance: u16,
    compute: u16,
}

/// Returns the engines of a platform without blown fuses (`platform_engine_mask`), or `None` for a platform
/// that is not listed. If there is no VCS1, VCS2 is the second video engine.
fn engines(platform: &Platform, gt: &str) -> Option<Engines> {
    let one = |copy, video, video_enhance| Engines { copy, video, video_enhance, compute: 0 };
    // The parts with the largest GTs have VCS1 (bdw_gt3_info, skl_gt3_info, kbl_gt3_info, cfl_gt3_info).
    let large = ["GT3", "GT4"].iter().any(|name| gt.starts_with(name));
    Some(match platform.name {
        "conservative" | "i830" | "i845g" | "i85x" | "i865g" | "i915g" | "i915gm" | "i945g" | "i945gm"
        | "g33" | "pnv" | "i965g" | "i965gm" => one(0, 0, 0),
        "g45" | "gm45" | "ilk" => one(0, 1, 0),
        "snb" | "ivb" | "vlv" => one(1, 1, 0),
        "bdw" | "skl" | "kbl" | "cfl" if large => one(1, 2, 1),
        "hsw" | "bdw" | "chv" | "skl" | "bxt" | "glk" | "kbl" | "cfl" | "cml" | "ehl" | "jsl" | "rkl" => {
            one(1, 1, 1)
        }
        "icl" | "tgl" | "adls" | "adlp" | "dg1" => one(1, 2, 1),
        // Userspace gets the first of four compute engines.
        "dg2" | "atsm" => Engines { compute: 1, ..one(1, 2, 2) },
        "mtl" => Engines { compute: 1, ..one(1, 2, 1) },
        // As the emulated devices have them, whose video engines are fused off.
        "lnl" | "bmg" | "bmg-g31" | "ptl" | "wcl" | "nvls" | "nvlp" | "cri" => {
            Engines { compute: 1, ..one(1, 0, 0) }
        }
        _ => return None,
    })
}

/// The engine class of each RING_MASK value, for a context whose engines userspace did not choose
/// (`user_ring_map`).
const RINGS: [EngineClass; 5] = [
    EngineClass::Render,
    EngineClass::Render,
    EngineClass::Video,
    EngineClass::Copy,
    EngineClass::VideoEnhance,
];

impl Machine {
    /// Returns the engines, in the order of ENGINE_INFO. `gt` is the GT of the PCI ID
    /// ([`super::DeviceId::gt`]).
    pub fn engines(&self, gt: &str) -> impl Iterator<Item = Engine> + use<> {
        // Of Rocket Lake, too, xe takes the video engines that the fuses leave.
        let platform = if self.driver == Driver::Xe && self.platform.name == "rkl" {
            &super::TGL
        } else {
            self.platform
        };
        let counts = engines(platform, gt);
        EngineClass::ALL.iter().flat_map(move |&class| {
            let count = counts.map_or(0, |counts| match class {
                EngineClass::Render => 1,
                EngineClass::Copy => counts.copy,
                EngineClass::Video => counts.video,
                EngineClass::VideoEnhance => counts.video_enhance,
                EngineClass::Compute => counts.compute,
            });
            (0..count).map(move |instance| Engine { class, instance })
        })
    }

    /// Returns the engine that runs an execbuf with these ring and BSD bits in a context with the default
    /// engines, or `None` if there is no such engine (`eb_select_legacy_ring`).
    ///
    /// `bsd` is the number in `I915_EXEC_BSD_MASK`. If there are two video engines and `bsd` leaves the
    /// choice to the kernel, which then chooses at random, returns the first.
    pub fn legacy_ring(&self, gt: &str, ring: u32, bsd: u32) -> Option<Engine> {
        let class = *RINGS.get(usize::try_from(ring).ok()?)?;
        if class != EngineClass::Video && bsd != 0 {
            return None;
        }
        let videos = self.engines(gt).filter(|engine| engine.class == EngineClass::Video).count();
        let instance = match (class, bsd) {
            (EngineClass::Video, 1..=2) if videos > 1 => bsd as u16 - 1,
            (EngineClass::Video, 3..) if videos > 1 => return None,
            _ => 0,
        };
        let wanted = Engine { class, instance };
        self.engines(gt).any(|engine| engine == wanted).then_some(wanted)
    }

    /// Returns whether the engine scales and converts formats (`__setup_engine_capabilities`).
    pub fn has_sfc(&self, engine: Engine) -> bool {
        let graphics = self.platform.graphics;
        // From 12.55 on, a fuse controls the SFC; it is blown on the emulated devices.
        let fused = graphics >= GraphicsVersion::new(12, 55);
        match (engine.class, graphics.major) {
            (EngineClass::Video, 9..) if engine.instance == 0 => true,
            // Every other physical engine has an SFC; the second engine here is the third physical one.
            (EngineClass::Video, 12..) => !fused,
            (EngineClass::VideoEnhance, 11..) => !fused,
            (
                EngineClass::Render
                | EngineClass::Copy
                | EngineClass::Video
                | EngineClass::VideoEnhance
                | EngineClass::Compute,
                _,
            ) => false,
        }
    }

    /// Returns whether the engine decodes HEVC (`__setup_engine_capabilities`).
    pub fn has_hevc(&self, engine: Engine) -> bool {
        let every = self.platform.graphics.major >= 11;
        let first = self.platform.graphics.major >= 9 && engine.instance == 0;
        engine.class == EngineClass::Video && (every || first)
    }

    /// Returns when the kernel checks batches for this engine: always, never, or only if the length is given
    /// (`intel_engine_init_cmd_parser`).
    pub fn command_parser(&self, engine: Engine) -> CommandParser {
        match self.platform.graphics.major {
            7 => CommandParser::WithLength,
            9 if engine.class == EngineClass::Copy => CommandParser::Always,
            _ => CommandParser::Never,
        }
    }

    /// Returns whether contexts have their own address spaces instead of sharing the device's.
    pub fn has_full_ppgtt(&self) -> bool {
        matches!(self.platform.ppgtt, super::Ppgtt::Full { .. })
    }
}

/// The batches that the kernel checks before it runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandParser {
    /// No batch.
    Never,
    /// Batches whose length the caller gives: generation 7.
    WithLength,
    /// All batches: the copy engine of generation 9.
    Always,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_of_every_platform_are_listed() {
        for platform in crate::platform::all() {
            assert!(engines(platform, "GT2").is_some(), "{}", platform.name);
        }
        let unlisted = Platform { name: "new", ..*crate::platform::by_name("tgl").unwrap() };
        assert_eq!(engines(&unlisted, "GT2"), None);
    }
}
