//! CPU features and models from CPUID.
#![deny(unsafe_code)]

use core::arch::asm;
#[cfg(target_arch = "x86")]
use core::arch::x86::{__cpuid, __cpuid_count};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__cpuid, __cpuid_count};

use super::{Instruction, LoadInstruction, StoreInstruction};

/// The registers that the system must save for AVX: XMM and YMM (XCR0 bits 1 and 2).
const AVX_STATE: u64 = 0b110;
/// Those for AVX-512: also the mask registers and both parts of ZMM (bits 5 to 7).
const AVX512_STATE: u64 = 0b1110_0110;

/// The features of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cpu {
    pub(super) line_bytes: u64,
    pub(super) clflushopt: bool,
    pub(super) clwb: bool,
    pub(super) sse4_1: bool,
    pub(super) sse4_2: bool,
    pub(super) avx: bool,
    pub(super) avx512f: bool,
    pub(super) model: Model,
}

/// The model of a CPU, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) intel: bool,
    pub(super) family: u32,
    pub(super) model: u32,
    /// The CPU has Atom cores beside others.
    pub(super) hybrid: bool,
    /// A hypervisor emulates CPUID and may report another model.
    pub(super) virtual_machine: bool,
}

/// The models of family 6 without Atom cores, Nehalem to Tiger Lake and their servers.
///
/// Source: `arch/x86/include/asm/intel-family.h` of the kernel.
const CORE_MODELS: &[u32] = &[
    0x1a, 0x1e, 0x1f, 0x2e, // Nehalem
    0x25, 0x2c, 0x2f, // Westmere
    0x2a, 0x2d, // Sandybridge
    0x3a, 0x3e, // Ivybridge
    0x3c, 0x3f, 0x45, 0x46, // Haswell
    0x3d, 0x47, 0x4f, 0x56, // Broadwell
    0x4e, 0x5e, 0x55, // Skylake
    0x8e, 0x9e, 0xa5, 0xa6, // Kaby Lake to Comet Lake
    0x66, // Cannon Lake
    0x7d, 0x7e, 0x6a, 0x6c, 0xa7, // Ice Lake, Rocket Lake
    0x8c, 0x8d, // Tiger Lake
    0x8f, 0xcf, // Sapphire and Emerald Rapids
];

impl Model {
    /// Returns whether an invalidate must touch the last line twice.
    ///
    /// Atoms from Baytrail on do not serialise a flush before a read otherwise (kernel commit 396f5d62d1a5,
    /// "drm: Restore double clflush on the last partial cacheline"). The kernel does this on every CPU; here
    /// it is omitted if no core is known to be an Atom and no hypervisor hides the model.
    pub(super) fn repeats_last_line(self) -> bool {
        let known = self.intel && self.family == 6 && CORE_MODELS.contains(&self.model);
        !known || self.hybrid || self.virtual_machine
    }

    /// Returns the family and model from the signature of CPUID leaf 1 (EAX).
    ///
    /// Source: Intel SDM vol. 2A, CPUID, "Version Information".
    fn family_and_model(signature: u32) -> (u32, u32) {
        let (family, model) = ((signature >> 8) & 0xf, (signature >> 4) & 0xf);
        let extended_model = (signature >> 12) & 0xf0;
        match family {
            6 => (family, model | extended_model),
            15 => (family + ((signature >> 20) & 0xff), model | extended_model),
            _ => (family, model),
        }
    }
}

/// Returns the registers that the system saves (XCR0).
///
/// # Safety
/// The CPU has XGETBV, and the system enabled it.
#[allow(unsafe_code)]
unsafe fn saved_state() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller's obligation; it writes these registers only.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

impl Cpu {
    /// Detects this CPU; features whose registers the system does not save count as absent.
    ///
    /// Source: Intel SDM vol. 2A, CPUID: leaf 0 (vendor), leaf 1 EAX (signature), EBX bits 15..8 (CLFLUSH line
    /// size, in 8 bytes), ECX bits 19 (SSE4.1), 20 (SSE4.2), 27 (OSXSAVE), 28 (AVX) and 31 (not used by CPUs:
    /// hypervisors set it), leaf 7 EBX bits 16 (AVX-512F), 23 (CLFLUSHOPT) and 24 (CLWB), EDX bit 15 (hybrid).
    // In newer compilers CPUID is safe on x86-64.
    #[allow(unsafe_code, unused_unsafe)]
    pub(super) fn detect() -> Self {
        // SAFETY: CPUID exists: a CPU of a machine with an i915 GPU has SSE2.
        let (names, version) = unsafe { (__cpuid(0), __cpuid(1)) };
        let vendor = [names.ebx, names.edx, names.ecx].map(u32::to_le_bytes);
        let (features, more) = match names.eax {
            7.. => {
                // SAFETY: as above; according to leaf 0 there is a leaf 7.
                let leaf = unsafe { __cpuid_count(7, 0) };
                (leaf.ebx, leaf.edx)
            }
            _ => (0, 0),
        };
        let (family, model) = Model::family_and_model(version.eax);
        let bit = |register: u32, place: u32| register >> place & 1 != 0;
        // SAFETY: with OSXSAVE there is XGETBV.
        let saved = if bit(version.ecx, 27) { unsafe { saved_state() } } else { 0 };
        Self {
            line_bytes: u64::from((version.ebx >> 8) & 0xff) * 8,
            clflushopt: bit(features, 23),
            clwb: bit(features, 24),
            sse4_1: bit(version.ecx, 19),
            sse4_2: bit(version.ecx, 20),
            avx: bit(version.ecx, 28) && saved & AVX_STATE == AVX_STATE,
            avx512f: bit(features, 16) && saved & AVX512_STATE == AVX512_STATE,
            model: Model {
                intel: vendor.as_flattened() == b"GenuineIntel",
                family,
                model,
                hybrid: bit(more, 15),
                virtual_machine: bit(version.ecx, 31),
            },
        }
    }

    /// Returns whether it has this cache-line instruction.
    pub(super) fn has(&self, instruction: Instruction) -> bool {
        match instruction {
            Instruction::Clflush => true,
            Instruction::Clflushopt => self.clflushopt,
            Instruction::Clwb => self.clwb,
        }
    }

    /// Returns whether stores by `instruction` followed by a fence leave memory current on this CPU.
    ///
    /// A non-temporal store evicts a cached line (Intel SDM vol. 1, 10.4.6.2), but "some older CPU
    /// implementations (e.g., Pentium M)" change the line in place. The manual does not say which of these
    /// are 64-bit, so CPUs without SSE4.2, which came with Nehalem and Silvermont, do not use them.
    pub(super) fn has_store(&self, instruction: StoreInstruction) -> bool {
        match instruction {
            StoreInstruction::Mov => true,
            StoreInstruction::Sse2 => self.sse4_2,
            StoreInstruction::Avx => self.sse4_2 && self.avx,
            StoreInstruction::Avx512 => self.sse4_2 && self.avx512f,
        }
    }

    /// Returns whether it has this load instruction.
    pub(super) fn has_load(&self, instruction: LoadInstruction) -> bool {
        match instruction {
            LoadInstruction::Mov => true,
            LoadInstruction::Movntdqa => self.sse4_1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGERLAKE: Model =
        Model { intel: true, family: 6, model: 0x8c, hybrid: false, virtual_machine: false };

    #[test]
    fn the_last_line_is_repeated_unless_no_core_can_be_an_atom() {
        assert!(!TIGERLAKE.repeats_last_line());
        for (name, model) in [
            ("Baytrail", 0x37),
            ("Goldmont Plus", 0x7a),
            ("Jasper Lake", 0x9c),
            ("Alder Lake N", 0xbe),
            ("unknown", 0xff),
        ] {
            assert!(Model { model, ..TIGERLAKE }.repeats_last_line(), "{name}");
        }
        assert!(Model { hybrid: true, ..TIGERLAKE }.repeats_last_line());
        assert!(Model { virtual_machine: true, ..TIGERLAKE }.repeats_last_line());
        assert!(Model { intel: false, ..TIGERLAKE }.repeats_last_line());
        assert!(Model { family: 15, ..TIGERLAKE }.repeats_last_line());
    }

    #[test]
    fn the_features_are_those_that_the_standard_library_detects() {
        let cpu = Cpu::detect();
        assert_eq!(cpu.sse4_1, is_x86_feature_detected!("sse4.1"));
        assert_eq!(cpu.sse4_2, is_x86_feature_detected!("sse4.2"));
        assert_eq!(cpu.avx, is_x86_feature_detected!("avx"));
        assert_eq!(cpu.avx512f, is_x86_feature_detected!("avx512f"));
    }

    #[test]
    fn a_signature_is_read_as_the_manual_says() {
        assert_eq!(Model::family_and_model(0x0008_06c1), (6, 0x8c), "Tiger Lake");
        assert_eq!(Model::family_and_model(0x0009_06c0), (6, 0x9c), "Jasper Lake");
        assert_eq!(Model::family_and_model(0x0000_0f43), (15, 4), "Prescott");
        assert_eq!(Model::family_and_model(0x00a2_0f10), (25, 0x21), "Zen 3");
    }
}
