//! The engines that a platform has for user space, and which of them execbuf's ring numbers mean.

use super::{GraphicsVersion, Machine, Platform};

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
    /// General purpose alone (CCS).
    Compute,
}

impl EngineClass {
    /// Every class, by number.
    pub const ALL: &'static [Self] =
        &[Self::Render, Self::Copy, Self::Video, Self::VideoEnhance, Self::Compute];

    /// The uAPI's number (`I915_ENGINE_CLASS_*`).
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

/// An engine's name in the uAPI (`i915_engine_class_instance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Engine {
    /// Its class.
    pub class: EngineClass,
    /// Which of its class, without gaps from 0 on.
    pub instance: u16,
}

/// How many engines of each class there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Engines {
    copy: u16,
    video: u16,
    video_enhance: u16,
    compute: u16,
}

/// The engines of a platform, with no fuse blown (`platform_engine_mask`); VCS2 is the second there
/// where there is no VCS1.
fn engines(platform: &Platform, gt: &str) -> Engines {
    let one = |copy, video, video_enhance| Engines { copy, video, video_enhance, compute: 0 };
    // The parts with the largest GTs have VCS1 (bdw_gt3_info, skl_gt3_info, kbl_gt3_info, cfl_gt3_info).
    let large = ["GT3", "GT4"].iter().any(|name| gt.starts_with(name));
    match platform.name {
        "g45" | "gm45" | "ilk" => one(0, 1, 0),
        "snb" | "ivb" | "vlv" => one(1, 1, 0),
        "bdw" | "skl" | "kbl" | "cfl" if large => one(1, 2, 1),
        "hsw" | "bdw" | "chv" | "skl" | "bxt" | "glk" | "kbl" | "cfl" | "cml" | "ehl" | "jsl" | "rkl" => {
            one(1, 1, 1)
        }
        "icl" | "tgl" | "adls" | "adlp" | "dg1" => one(1, 2, 1),
        // Of four compute engines userspace gets the first.
        "dg2" | "atsm" => Engines { compute: 1, ..one(1, 2, 2) },
        "mtl" => Engines { compute: 1, ..one(1, 2, 1) },
        _ => one(0, 0, 0),
    }
}

/// What RING_MASK of an execbuf means to a context whose engines userspace did not choose
/// (`user_ring_map`).
const RINGS: [EngineClass; 5] = [
    EngineClass::Render,
    EngineClass::Render,
    EngineClass::Video,
    EngineClass::Copy,
    EngineClass::VideoEnhance,
];

impl Machine {
    /// The engines, in the order of ENGINE_INFO; `gt` is the PCI id's ([`super::DeviceId::gt`]).
    pub fn engines(&self, gt: &str) -> impl Iterator<Item = Engine> + use<> {
        let counts = engines(self.platform, gt);
        EngineClass::ALL.iter().flat_map(move |&class| {
            let count = match class {
                EngineClass::Render => 1,
                EngineClass::Copy => counts.copy,
                EngineClass::Video => counts.video,
                EngineClass::VideoEnhance => counts.video_enhance,
                EngineClass::Compute => counts.compute,
            };
            (0..count).map(move |instance| Engine { class, instance })
        })
    }

    /// The engine that an execbuf with these ring and BSD bits runs on in a context with the default
    /// engines, or `None` if there is no such (`eb_select_legacy_ring`).
    ///
    /// `bsd` is the number in `I915_EXEC_BSD_MASK`. Where there are two video engines and it leaves
    /// the choice to the kernel, which then chooses at random, it is the first.
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

    /// Whether the engine scales and converts formats (`__setup_engine_capabilities`).
    pub fn has_sfc(&self, engine: Engine) -> bool {
        let graphics = self.platform.graphics;
        // From 12.55 on there is a fuse, which is blown on the emulated devices.
        let fused = graphics >= GraphicsVersion::new(12, 55);
        match (engine.class, graphics.major) {
            (EngineClass::Video, 9..) if engine.instance == 0 => true,
            // On every other physical engine, of which the second here is the third.
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

    /// Whether the engine decodes HEVC (`__setup_engine_capabilities`).
    pub fn has_hevc(&self, engine: Engine) -> bool {
        let every = self.platform.graphics.major >= 11;
        let first = self.platform.graphics.major >= 9 && engine.instance == 0;
        engine.class == EngineClass::Video && (every || first)
    }

    /// Whether batches on the engine are checked by the kernel: always, or only if their length is
    /// given (`intel_engine_init_cmd_parser`).
    pub fn command_parser(&self, engine: Engine) -> CommandParser {
        match self.platform.graphics.major {
            7 => CommandParser::WithLength,
            9 if engine.class == EngineClass::Copy => CommandParser::Always,
            _ => CommandParser::Never,
        }
    }

    /// Whether contexts have address spaces of their own, rather than share the device's.
    pub fn has_full_ppgtt(&self) -> bool {
        matches!(self.platform.ppgtt, super::Ppgtt::Full { .. })
    }
}

/// Which batches the kernel checks before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandParser {
    /// None.
    Never,
    /// Those whose length the caller gives: generation 7.
    WithLength,
    /// All of them: the copy engine of generation 9.
    Always,
}
