//! `<drm/i915_drm.h>`: answers of QUERY.
//!
//! The request itself, and the memory regions, are in [`super::i915_exec`].

use super::i915_context::i915_engine_class_instance;
use super::{requests, structs, values};

structs! {
    /// An engine.
    drm_i915_engine_info: 56 {
        /// Its name.
        engine @ 0: i915_engine_class_instance,
        /// Zero.
        rsvd0 @ 4: u32,
        /// `I915_ENGINE_INFO_*`.
        flags @ 8: u64,
        /// `I915_VIDEO_CLASS_CAPABILITY_*`, `I915_VIDEO_AND_ENHANCE_CLASS_CAPABILITY_*`.
        capabilities @ 16: u64,
        /// Which of its class, as parallel submission counts.
        logical_instance @ 24: u16,
        /// Zero.
        rsvd1 @ 26: [u16; 3],
        /// Zero.
        rsvd2 @ 32: [u64; 3],
    }

    /// The answer to `DRM_I915_QUERY_ENGINE_INFO`.
    drm_i915_query_engine_info: 16 {
        /// Entries in `engines`.
        num_engines @ 0: u32,
        /// Zero.
        rsvd @ 4: [u32; 3],
        /// The engines; a flexible array.
        engines @ 16: [drm_i915_engine_info; 0],
    }

    /// The answer to `DRM_I915_QUERY_TOPOLOGY_INFO`, and to `..._GEOMETRY_SUBSLICES`.
    drm_i915_query_topology_info: 16 {
        /// Zero.
        flags @ 0: u16,
        /// Slices at most.
        max_slices @ 2: u16,
        /// Subslices per slice at most.
        max_subslices @ 4: u16,
        /// Execution units per subslice at most.
        max_eus_per_subslice @ 6: u16,
        /// The offset in `data` of the subslices.
        subslice_offset @ 8: u16,
        /// Bytes per slice there.
        subslice_stride @ 10: u16,
        /// The offset in `data` of the execution units.
        eu_offset @ 12: u16,
        /// Bytes per subslice there.
        eu_stride @ 14: u16,
        /// Masks; a flexible array.
        data @ 16: [u8; 0],
    }

    /// The answer to `DRM_I915_QUERY_PERF_CONFIG`; C calls the union of the first 40 bytes
    /// `n_configs`, `config` and `uuid`.
    drm_i915_query_perf_config: 48 {
        /// The number of configurations, or the configuration that is meant.
        n_configs @ 0: u64,
        /// The rest of the union.
        __uuid_rest @ 8: [u64; 4],
        /// Must be 0.
        flags @ 40: u32,
        /// Padding, in which the flexible array `data` begins.
        __pad0 @ 44: u32,
    }

    /// The argument of PERF_OPEN: a stream of samples.
    drm_i915_perf_open_param: 16 {
        /// `I915_PERF_FLAG_*`.
        flags @ 0: u32,
        /// The number of properties.
        num_properties @ 4: u32,
        /// Address of the properties: number and value of each.
        properties_ptr @ 8: u64,
    }
}

values! {
    /// `logical_instance` is there.
    I915_ENGINE_INFO_HAS_LOGICAL_INSTANCE: u64 = 1 << 0;
    /// A video engine that decodes HEVC.
    I915_VIDEO_CLASS_CAPABILITY_HEVC: u64 = 1 << 0;
    /// An engine that scales and converts formats.
    I915_VIDEO_AND_ENHANCE_CLASS_CAPABILITY_SFC: u64 = 1 << 1;
    /// The question for slices, subslices and execution units.
    DRM_I915_QUERY_TOPOLOGY_INFO: u64 = 1;
    /// The question for engines.
    DRM_I915_QUERY_ENGINE_INFO: u64 = 2;
    /// The question for configurations of performance counters.
    DRM_I915_QUERY_PERF_CONFIG: u64 = 3;
    /// All configurations.
    DRM_I915_QUERY_PERF_CONFIG_LIST: u32 = 1;
    /// The one of that name.
    DRM_I915_QUERY_PERF_CONFIG_DATA_FOR_UUID: u32 = 2;
    /// The one of that number.
    DRM_I915_QUERY_PERF_CONFIG_DATA_FOR_ID: u32 = 3;
    /// The question for the table of the hardware's configuration.
    DRM_I915_QUERY_HWCONFIG_BLOB: u64 = 5;
    /// The question for the subslices that a render engine can use.
    DRM_I915_QUERY_GEOMETRY_SUBSLICES: u64 = 6;
    /// The question for the version of the GuC's interface.
    DRM_I915_QUERY_GUC_SUBMISSION_VERSION: u64 = 7;
    /// The stream's descriptor is closed by execve(2).
    I915_PERF_FLAG_FD_CLOEXEC: u32 = 1 << 0;
    /// Reads of the stream do not block.
    I915_PERF_FLAG_FD_NONBLOCK: u32 = 1 << 1;
    /// The stream begins disabled.
    I915_PERF_FLAG_DISABLED: u32 = 1 << 2;
}

// QUERY itself is declared in [`super::i915_exec`].
requests! {
    /// Opens a stream of samples.
    DRM_IOCTL_I915_PERF_OPEN = IOW(b'd', 0x76, drm_i915_perf_open_param) == 0x4010_6476;
    /// Removes a configuration of counters.
    DRM_IOCTL_I915_PERF_REMOVE_CONFIG = IOW(b'd', 0x78, u64) == 0x4008_6478;
}
