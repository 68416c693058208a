//! What xe does with a BO in place of domains and flushes, as the rules predict it.

use gem_coherency::vocabulary::{Agent, CachingMode};
use gem_coherency::xe::{
    Bind, Choice, CpuCaching, Decision, Device, LOCAL, Memory, PatCoherency, Rule, Verdict, When,
};
use serde::Serialize;

/// How a BO is created and bound, and what its accesses require.
#[derive(Clone, Debug, Serialize)]
pub struct XeObject {
    /// How the CPU maps it (`cpu_caching`).
    pub cpu_caching: CpuCaching,
    /// It is in local memory, not in system memory.
    pub local: bool,
    /// The PAT index by which the library binds it.
    pub pat_index: u16,
    /// The coherency of this index.
    pub coherency: PatCoherency,
    /// The requirement between a store of the CPU's and a batch.
    pub stores: Requirement,
    /// The requirement between a batch's write and a load of the CPU's, after the fence.
    pub gpu_writes: Requirement,
    /// A PAT index that the kernel refuses for the BO; null if it accepts all.
    pub refused: Option<RefusedIndex>,
}

/// A decision of the rules.
#[derive(Clone, Debug, Serialize)]
pub struct Requirement {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decides.
    pub rule: Rule,
    /// The rule's reason.
    pub reason: &'static str,
    /// The rule's source.
    pub source: &'static str,
}

impl From<Decision> for Requirement {
    fn from(Decision { verdict, rule }: Decision) -> Self {
        Self { verdict, rule, reason: rule.reason(), source: rule.source() }
    }
}

/// A PAT index that VM_BIND refuses.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedIndex {
    /// The index.
    pub pat_index: u16,
    /// The errno.
    pub errno: String,
    /// The check that fails.
    pub rule: Rule,
    /// The check's reason.
    pub reason: &'static str,
}

impl XeObject {
    /// Predicts what xe does with a BO of `mode`; `None` if there is no such BO.
    pub fn predicted(device: &Device, mode: Option<CachingMode>, size_bytes: u64) -> Option<Self> {
        let Choice { create, pat_index } =
            device.choose_mode(mode.unwrap_or(CachingMode::Cached), size_bytes)?;
        let object = device.create(&create?).ok()?;
        let memory = Memory::Object(&object);
        let decide = |from, to| device.needs_flush(memory, pat_index, from, to, When::AfterFence).into();
        let refused = device.pat.indices().find_map(|(pat_index, _)| {
            let (_, refusal) = device.bind(&[Bind::map(&object, 0, pat_index)], false).err()?;
            Some(RefusedIndex {
                pat_index,
                errno: refusal.errno.name()?.to_owned(),
                rule: refusal.rule,
                reason: refusal.rule.reason(),
            })
        });
        Some(Self {
            cpu_caching: object.caching?,
            local: object.placement & LOCAL != 0,
            pat_index,
            coherency: device.pat.entry(pat_index).ok()?.coherency,
            stores: decide(Agent::Cpu, Agent::Gpu),
            gpu_writes: decide(Agent::Gpu, Agent::Cpu),
            refused,
        })
    }
}
