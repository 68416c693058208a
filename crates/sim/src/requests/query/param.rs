//! GETPARAM.
//!
//! The driver runs with `enable_guc=0`: no firmware is loaded. The parameters that describe a device's
//! resources (REVISION, SUBSLICE_TOTAL, EU_TOTAL, SLICE_MASK, SUBSLICE_MASK, MIN_EU_IN_POOL,
//! CS_TIMESTAMP_FREQUENCY, OA_TIMESTAMP_FREQUENCY) have plausible values for the platform that cannot be
//! compared with another device's.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::hardware::MMAP_VERSION_5;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency::platform::{Call, Caps, CommandParser, Engine, EngineClass, Machine, Ppgtt, Topology};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::i915_facts::*;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GETPARAM, Everyone => getparam;
};

/// The value of HAS_WT where it is supported: `edram_size_mb`, 128 on Haswell and Broadwell.
const EDRAM_MB: i32 = 128;
/// The value of `i915_cmd_parser_get_version` where there is a parser: gen7 and gen9.
const CMD_PARSER_VERSION: i32 = 10;
/// The first kernel with versions 6 and 7 of PERF_OPEN (e6e2b0000d2d, 2db609c01495).
const PERF_VERSION_7: KernelVersion = KernelVersion::new(6, 4);
/// The first kernel that knows OA_TIMESTAMP_FREQUENCY.
const OA_TIMESTAMP: KernelVersion = KernelVersion::new(6, 3);
/// The first kernel that knows PXP_STATUS.
const PXP_STATUS: KernelVersion = KernelVersion::new(6, 5);
/// The first kernel that knows HAS_CONTEXT_FREQ_HINT.
const FREQ_HINT: KernelVersion = KernelVersion::new(6, 10);
/// The value of PXP_STATUS while protected content may still become available.
const PXP_NOT_READY: i32 = 2;

/// `i915_getparam_ioctl`.
fn getparam(caller: &mut Caller<'_>, args: &mut drm_i915_getparam) -> Result<()> {
    let value = caller.device.getparam_ioctl(args.param)?;
    caller.put(DRM_IOCTL_I915_GETPARAM.name, args.value, &value.to_ne_bytes())
}

impl SimDevice {
    /// Returns the value of a parameter.
    pub(crate) fn getparam_ioctl(&self, param: i32) -> Result<i32> {
        let request = DRM_IOCTL_I915_GETPARAM.name;
        self.system.enter(request, Needs::Nothing)?;
        self.param(param).or_else(|errno| refuse(request, errno))
    }
}

impl SimDevice {
    /// Returns the value of a parameter.
    fn param(&self, param: i32) -> Result<i32, Errno> {
        let machine = self.system.machine;
        let engines = self.engines();
        let topology = machine.topology(self.system.hardware.gt);
        let has = |cap| i32::from(machine.caps.contains(cap));
        Ok(match param {
            I915_PARAM_IRQ_ACTIVE
            | I915_PARAM_ALLOW_BATCHBUFFER
            | I915_PARAM_LAST_DISPATCH
            | I915_PARAM_HAS_EXEC_CONSTANTS => return Err(Errno::ENODEV),
            I915_PARAM_CHIPSET_ID => i32::from(self.system.hardware.id),
            I915_PARAM_REVISION => self.system.hardware.revision.into(),
            I915_PARAM_HAS_RESOURCE_STREAMER => 0,
            I915_PARAM_NUM_FENCES_AVAIL => machine.fences() as i32,
            I915_PARAM_HAS_OVERLAY => i32::from(self.system.hardware.display && machine.has_overlay()),
            I915_PARAM_HAS_BSD
            | I915_PARAM_HAS_BLT
            | I915_PARAM_HAS_VEBOX
            | I915_PARAM_HAS_BSD2
            | I915_PARAM_HAS_CONTEXT_ISOLATION => of_engines(machine, &engines, param),
            I915_PARAM_HAS_LLC => has(Caps::LLC),
            I915_PARAM_HAS_WT => has(Caps::WT) * EDRAM_MB,
            I915_PARAM_MMAP_GTT_COHERENT => has(Caps::COHERENT_GGTT),
            I915_PARAM_HAS_ALIASING_PPGTT => match machine.platform.ppgtt {
                Ppgtt::None => 0,
                Ppgtt::Aliasing { .. } => 1,
                Ppgtt::Full { .. } => 2,
            },
            I915_PARAM_HAS_SEMAPHORES => i32::from(machine.has_execlists()),
            I915_PARAM_HAS_SCHEDULER => scheduler_caps(machine),
            I915_PARAM_HAS_SECURE_BATCHES => i32::from(machine.refusal(Call::ExecSecure).is_none()),
            I915_PARAM_CMD_PARSER_VERSION => {
                let parsed = |&engine: &Engine| machine.command_parser(engine) != CommandParser::Never;
                i32::from(engines.iter().any(parsed)) * CMD_PARSER_VERSION
            }
            I915_PARAM_SUBSLICE_TOTAL | I915_PARAM_EU_TOTAL => {
                return of_slices(topology, param);
            }
            // From 12.55 on, only the topology queries exist.
            I915_PARAM_SLICE_MASK | I915_PARAM_SUBSLICE_MASK if machine.platform.graphics.minor >= 55 => {
                return Err(Errno::EINVAL);
            }
            I915_PARAM_SLICE_MASK | I915_PARAM_SUBSLICE_MASK => return of_slices(topology, param),
            I915_PARAM_HAS_GPU_RESET => match machine.platform.graphics.major {
                ..=2 => 0,
                3..=6 => 1,
                7.. => 2,
            },
            I915_PARAM_HAS_POOLED_EU => i32::from(machine.has_pooled_eu()),
            I915_PARAM_MIN_EU_IN_POOL => i32::from(machine.has_pooled_eu()) * 9,
            I915_PARAM_HUC_STATUS if machine.platform.graphics.major < 9 => return Err(Errno::ENODEV),
            I915_PARAM_HUC_STATUS => return Err(Errno::EOPNOTSUPP),
            I915_PARAM_MMAP_GTT_VERSION if machine.kernel >= MMAP_VERSION_5 => 5,
            I915_PARAM_MMAP_GTT_VERSION => 4,
            I915_PARAM_PERF_REVISION if machine.kernel >= PERF_VERSION_7 => 7,
            I915_PARAM_PERF_REVISION => 5,
            I915_PARAM_CS_TIMESTAMP_FREQUENCY => machine.timestamp_hz() as i32,
            I915_PARAM_OA_TIMESTAMP_FREQUENCY if machine.kernel >= OA_TIMESTAMP => {
                machine.timestamp_hz() as i32
            }
            I915_PARAM_PXP_STATUS if machine.kernel >= PXP_STATUS && machine.has_pxp() => PXP_NOT_READY,
            I915_PARAM_PXP_STATUS if machine.kernel >= PXP_STATUS => return Err(Errno::ENODEV),
            // The kernel stores the errno as the value, and succeeds.
            I915_PARAM_HAS_CONTEXT_FREQ_HINT if machine.kernel >= FREQ_HINT => -(Errno::EINVAL.get()),
            I915_PARAM_HAS_GEM
            | I915_PARAM_HAS_PAGEFLIPPING
            | I915_PARAM_HAS_EXECBUF2
            | I915_PARAM_HAS_RELAXED_FENCING
            | I915_PARAM_HAS_COHERENT_RINGS
            | I915_PARAM_HAS_RELAXED_DELTA
            | I915_PARAM_HAS_GEN7_SOL_RESET
            | I915_PARAM_HAS_WAIT_TIMEOUT
            | I915_PARAM_HAS_PRIME_VMAP_FLUSH
            | I915_PARAM_HAS_PINNED_BATCHES
            | I915_PARAM_HAS_EXEC_NO_RELOC
            | I915_PARAM_HAS_EXEC_HANDLE_LUT
            | I915_PARAM_HAS_COHERENT_PHYS_GTT
            | I915_PARAM_MMAP_VERSION
            | I915_PARAM_HAS_EXEC_SOFTPIN
            | I915_PARAM_HAS_EXEC_ASYNC
            | I915_PARAM_HAS_EXEC_FENCE
            | I915_PARAM_HAS_EXEC_CAPTURE
            | I915_PARAM_HAS_EXEC_BATCH_FIRST
            | I915_PARAM_HAS_EXEC_FENCE_ARRAY
            | I915_PARAM_HAS_EXEC_SUBMIT_FENCE
            | I915_PARAM_HAS_EXEC_TIMELINE_FENCES
            | I915_PARAM_HAS_USERPTR_PROBE => 1,
            _ => return Err(Errno::EINVAL),
        })
    }
}

/// Returns the scheduler's capabilities (`set_scheduler_caps`).
fn scheduler_caps(machine: Machine) -> i32 {
    if !machine.has_execlists() {
        return 0;
    }
    let caps = I915_SCHEDULER_CAP_ENABLED
        | I915_SCHEDULER_CAP_PRIORITY
        | I915_SCHEDULER_CAP_SEMAPHORES
        | I915_SCHEDULER_CAP_ENGINE_BUSY_STATS;
    if machine.can_preempt() { caps | I915_SCHEDULER_CAP_PREEMPTION } else { caps }
}

/// Returns a parameter that describes the engines.
fn of_engines(machine: Machine, engines: &[Engine], param: i32) -> i32 {
    let has = |class, instance| i32::from(engines.contains(&Engine { class, instance }));
    match param {
        I915_PARAM_HAS_BSD => has(EngineClass::Video, 0),
        I915_PARAM_HAS_BSD2 => has(EngineClass::Video, 1),
        I915_PARAM_HAS_BLT => has(EngineClass::Copy, 0),
        I915_PARAM_HAS_VEBOX => has(EngineClass::VideoEnhance, 0),
        // The classes with a context image of their own (`intel_engines_has_context_isolation`).
        _ => engines
            .iter()
            .filter(|engine| machine.has_context_image(engine.class))
            .fold(0, |mask, engine| mask | 1 << engine.class.number()),
    }
}

/// Returns a parameter that describes the slices; ENODEV where i915 does not determine it.
fn of_slices(topology: Option<Topology>, param: i32) -> Result<i32, Errno> {
    let topology = topology.ok_or(Errno::ENODEV)?;
    let subslices = topology.slices.count_ones() * topology.subslices.count_ones();
    Ok(match param {
        I915_PARAM_SUBSLICE_TOTAL => subslices,
        I915_PARAM_EU_TOTAL => subslices * u32::from(topology.max_eus),
        I915_PARAM_SLICE_MASK => u32::from(topology.slices),
        _ => topology.subslices,
    } as i32)
}
