//! Other features of a platform that i915 reports to clients or that affect them.

use super::table::*;
use crate::vocabulary::KernelVersion;
use crate::vocabulary::PAGE_BYTES;

use super::{Caps, EngineClass, Machine, Platform};

impl Platform {
    /// Returns whether a fuse can disable the display (`SFUSE_STRAP`, `SKL_DFSM` in
    /// `intel_display_device_info_runtime_init`), so that the driver lacks `DRIVER_MODESET`.
    pub fn has_display_fuse(&self) -> bool {
        self.graphics.major >= 7 && self != &VLV && self != &CHV
    }
}

impl Machine {
    /// Returns whether batches go through submission queues, which have priorities and dependencies
    /// (`HAS_EXECLISTS`: `has_logical_ring_contexts`).
    pub fn has_execlists(&self) -> bool {
        self.platform.graphics.major >= 8
    }

    /// Returns whether engines of `class` save their state per context (`intel_engine_context_size`).
    pub fn has_context_image(&self, class: EngineClass) -> bool {
        match class {
            EngineClass::Render | EngineClass::Compute => self.platform.graphics.major >= 4,
            EngineClass::Copy | EngineClass::Video | EngineClass::VideoEnhance => self.has_execlists(),
        }
    }

    /// Returns whether contexts can be created (`has_logical_contexts`).
    pub fn has_contexts(&self) -> bool {
        self.has_context_image(EngineClass::Render)
    }

    /// Returns whether a batch can preempt another (`I915_ENGINE_HAS_PREEMPTION`).
    pub fn can_preempt(&self) -> bool {
        self.platform.graphics.major >= 9
    }

    /// Returns whether a single engine can be reset (`has_reset_engine`).
    pub fn has_reset_engine(&self) -> bool {
        self.platform.graphics.major >= 7
    }

    /// Returns whether the platform has protected content without GPU firmware (`has_pxp`). Debian builds 6.1
    /// without `CONFIG_DRM_I915_PXP` and 6.12 with it.
    pub fn has_pxp(&self) -> bool {
        let graphics = self.platform.graphics;
        let built = self.kernel > KernelVersion::new(6, 1);
        built && graphics.major == 12 && graphics.minor < 55 && !self.caps.contains(Caps::DISCRETE)
    }

    /// Returns whether execution units are pooled (`gen9_sseu_info_init`).
    pub fn has_pooled_eu(&self) -> bool {
        self.platform == &BXT || self.platform == &GLK
    }

    /// Returns the frequency of the engines' timestamp on real devices of the platform, in Hz
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

    /// Returns whether the display has an overlay (`has_overlay` of `intel_display_device.c`).
    pub fn has_overlay(&self) -> bool {
        match self.platform.graphics.major {
            ..=3 => true,
            4 => self.platform == &I965G || self.platform == &I965GM,
            5.. => false,
        }
    }

    /// Returns whether the display accepts atomic commits from clients (`nuclear_pageflip`): from gen5 on,
    /// and on G4x from the first kernel after 6.1 on.
    pub fn has_atomic(&self) -> bool {
        let g4x = [&G45, &GM45].contains(&self.platform) && self.kernel > KernelVersion::new(6, 1);
        self.platform.graphics.major >= 5 || g4x
    }

    /// Returns how many bytes the kernel reserves at the end of a context's address space: a page of local
    /// memory from graphics version 12.55 on (`gen8_init_rsvd`; present in 6.12, absent in 6.1).
    pub fn reserved_space_bytes(&self) -> u64 {
        let graphics = self.platform.graphics;
        let reserves = graphics.major >= 12 && graphics.minor >= 55 && self.kernel > KernelVersion::new(6, 1);
        if reserves { self.platform.local_page_bytes.map_or(PAGE_BYTES, u64::from) } else { 0 }
    }

    /// Returns whether the display can flip without waiting for the vertical blank (`HAS_ASYNC_FLIPS`).
    pub fn flips_at_once(&self) -> bool {
        self.platform.graphics.major >= 5
    }

    /// Returns the width and height of the largest cursor, in pixels (`intel_mode_config_init`).
    ///
    /// 7.2 takes the 945GM's display for that of the 915GM (`i945gm_desc` of `intel_display_device.c`); 6.12 does not.
    pub fn cursor(&self) -> (u64, u64) {
        let small = [&I830, &I85X, &I915G, &I915GM];
        let taken_for_i915gm = self.platform == &I945GM && self.kernel > KernelVersion::new(6, 12);
        match self.platform {
            _ if taken_for_i915gm => (64, 64),
            platform if platform == &I845G => (64, 1023),
            platform if platform == &I865G => (512, 1023),
            platform if small.contains(&platform) => (64, 64),
            _ => (256, 256),
        }
    }

    /// Returns whether tiles are 128 bytes wide instead of 512: all tiles of gen2, and Y tiles on platforms
    /// with `HAS_128_BYTE_Y_TILING`.
    pub fn has_narrow_tiles(&self, y: bool) -> bool {
        let wide = [&I915G, &I915GM];
        match self.platform.graphics.major {
            ..=2 => true,
            3.. => y && !wide.contains(&self.platform),
        }
    }

    /// Returns whether engines can be bonded (`set_proto_ctx_engines_bond`).
    pub fn has_bonding(&self) -> bool {
        let late = [&TGL, &RKL, &ADLS];
        self.platform.graphics.major < 12 || late.contains(&self.platform)
    }
}
