//! What else i915 knows about a platform that a client can ask for or run into.

use super::table::*;
use crate::vocabulary::KernelVersion;
use crate::vocabulary::PAGE_BYTES;

use super::{Caps, EngineClass, Machine, Platform};

impl Platform {
    /// Whether a fuse can take the display away (`SFUSE_STRAP`, `SKL_DFSM` in
    /// `intel_display_device_info_runtime_init`), so that the driver has no `DRIVER_MODESET`.
    pub fn has_display_fuse(&self) -> bool {
        self.graphics.major >= 7 && self != &VLV && self != &CHV
    }
}

impl Machine {
    /// Whether batches go through submission queues (`HAS_EXECLISTS`: `has_logical_ring_contexts`),
    /// where they have priorities and wait for each other.
    pub fn has_execlists(&self) -> bool {
        self.platform.graphics.major >= 8
    }

    /// Whether engines of `class` save their state per context (`intel_engine_context_size`).
    pub fn has_context_image(&self, class: EngineClass) -> bool {
        match class {
            EngineClass::Render | EngineClass::Compute => self.platform.graphics.major >= 4,
            EngineClass::Copy | EngineClass::Video | EngineClass::VideoEnhance => self.has_execlists(),
        }
    }

    /// Whether contexts can be made (`has_logical_contexts`).
    pub fn has_contexts(&self) -> bool {
        self.has_context_image(EngineClass::Render)
    }

    /// Whether a batch can be interrupted by another (`I915_ENGINE_HAS_PREEMPTION`).
    pub fn can_preempt(&self) -> bool {
        self.platform.graphics.major >= 9
    }

    /// Whether an engine can be reset by itself (`has_reset_engine`).
    pub fn has_reset_engine(&self) -> bool {
        self.platform.graphics.major >= 7
    }

    /// Whether there is protected content without firmware for the GPU (`has_pxp`); Debian builds 6.1
    /// without `CONFIG_DRM_I915_PXP`, 6.12 with it.
    pub fn has_pxp(&self) -> bool {
        let graphics = self.platform.graphics;
        let built = self.kernel > KernelVersion::new(6, 1);
        built && graphics.major == 12 && graphics.minor < 55 && !self.caps.contains(Caps::DISCRETE)
    }

    /// Whether execution units are pooled (`gen9_sseu_info_init`).
    pub fn has_pooled_eu(&self) -> bool {
        self.platform == &BXT || self.platform == &GLK
    }

    /// Frequency of the engines' timestamp, in Hz, as real devices of the platform have it
    /// (`intel_gt_init_clock_frequency`).
    pub fn timestamp_hz(&self) -> u32 {
        let platform = self.platform;
        match platform.graphics.major {
            ..=3 => 0,
            4 if platform == &G45 || platform == &GM45 => 1_000_000_000 / 1024,
            4 => 266_667_000,
            5 => 1_000_000,
            6..=8 => 12_500_000,
            9 if platform == &BXT || platform == &GLK => 19_200_000,
            9..=11 => 12_000_000,
            12.. => 19_200_000,
        }
    }

    /// Whether the display has an overlay (`has_overlay` of `intel_display_device.c`).
    pub fn has_overlay(&self) -> bool {
        match self.platform.graphics.major {
            ..=3 => true,
            4 => self.platform == &I965G || self.platform == &I965GM,
            5.. => false,
        }
    }

    /// Whether the display takes atomic commits of clients (`nuclear_pageflip`): from gen5 on, and on
    /// G4x where a kernel after 6.1 drives it.
    pub fn has_atomic(&self) -> bool {
        let g4x = [&G45, &GM45].contains(&self.platform) && self.kernel > KernelVersion::new(6, 1);
        self.platform.graphics.major >= 5 || g4x
    }

    /// Bytes at the end of a context's address space that the kernel keeps for itself: a page of local
    /// memory from graphics version 12.55 on (`gen8_init_rsvd`; there in 6.12, not in 6.1).
    pub fn reserved_space_bytes(&self) -> u64 {
        let graphics = self.platform.graphics;
        let reserves = graphics.major >= 12 && graphics.minor >= 55 && self.kernel > KernelVersion::new(6, 1);
        if reserves { self.platform.local_page_bytes.map_or(PAGE_BYTES, u64::from) } else { 0 }
    }

    /// Whether the display flips without waiting for the vertical blank (`HAS_ASYNC_FLIPS`).
    pub fn flips_at_once(&self) -> bool {
        self.platform.graphics.major >= 5
    }

    /// Width and height of the largest cursor (`intel_mode_config_init`).
    pub fn cursor(&self) -> (u64, u64) {
        let small = [&I830, &I85X, &I915G, &I915GM];
        match self.platform {
            platform if platform == &I845G => (64, 1023),
            platform if platform == &I865G => (512, 1023),
            platform if small.contains(&platform) => (64, 64),
            _ => (256, 256),
        }
    }

    /// Whether tiles are 128 bytes wide, not 512: all of gen2, those in Y where
    /// `HAS_128_BYTE_Y_TILING` says so.
    pub fn has_narrow_tiles(&self, y: bool) -> bool {
        let wide = [&I915G, &I915GM];
        match self.platform.graphics.major {
            ..=2 => true,
            3.. => y && !wide.contains(&self.platform),
        }
    }

    /// Whether engines can be bonded (`set_proto_ctx_engines_bond`).
    pub fn has_bonding(&self) -> bool {
        let late = [&TGL, &RKL, &ADLS];
        self.platform.graphics.major < 12 || late.contains(&self.platform)
    }
}
