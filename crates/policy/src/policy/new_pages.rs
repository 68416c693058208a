//! The flushes that the bytes of new pages require: zeroes, and what another device's driver left in an imported buffer.

use crate::platform::Caps;
use crate::policy::kernel::{self, Creation, KernelRules, Snapshot};
use crate::policy::{Decision, Rule, Verdict};

/// Decides whether the zeroes of new pages, which the kernel writes through the CPU's cache, must be flushed.
/// `fresh` is the state of a new object without pages.
///
/// Returns `NotNeeded` if the kernel flushes the zeroes, or if every agent reads through the cache. Otherwise
/// returns `Flush`; the caller then marks every line dirty.
pub fn needs_flush_of_zeroes(caps: Caps, rules: &KernelRules, fresh: Snapshot) -> Decision {
    match kernel::step(caps, rules, fresh, kernel::Event::Acquire) {
        Ok(step) if step.effects.actions().any(kernel::Action::is_flush) => {
            Decision::new(Verdict::NotNeeded, step.rule)
        }
        Ok(_) | Err(_) if caps.contains(Caps::DISCRETE) => {
            Decision::new(Verdict::NotNeeded, Rule::DiscreteSnoops)
        }
        // The display needs no flush here: the first pin forces the level, and the kernel flushes.
        Ok(_) | Err(_) if caps.contains(Caps::LLC) && !caps.contains(Caps::LLC_BYPASS_MOCS) => {
            Decision::new(Verdict::NotNeeded, Rule::LlcCoherent)
        }
        Ok(_) | Err(_) => Decision::new(Verdict::Flush, Rule::ZeroesStayDirty),
    }
}

/// Decides whether the pages of a buffer imported from another device must be flushed, and by which component:
/// the kernel ([`Rule::ImportWbinvd`]), or the exporter ([`Rule::ImportUntracked`]) before Linux 5.16, which
/// flushes nothing at an import.
pub fn needs_flush_of_import(caps: Caps, rules: &KernelRules) -> Decision {
    let acquire = Snapshot::created(caps, rules, Creation::Import)
        .and_then(|import| kernel::step(caps, rules, import, kernel::Event::Acquire));
    match acquire {
        Ok(step) if step.effects.actions().any(kernel::Action::is_flush) => {
            Decision::new(Verdict::Flush, Rule::ImportWbinvd)
        }
        Ok(_) | Err(_) if caps.contains(Caps::LLC) && !caps.contains(Caps::LLC_BYPASS_MOCS) => {
            Decision::new(Verdict::NotNeeded, Rule::ImportCoherent)
        }
        Ok(_) | Err(_) if caps.contains(Caps::DG1) => Decision::new(Verdict::NotNeeded, Rule::ImportCoherent),
        Ok(_) | Err(_) => Decision::new(Verdict::Flush, Rule::ImportUntracked),
    }
}
