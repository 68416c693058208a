//! The MOCS tables that i915 programs, as far as they decide whether an access goes around the LLC.

use super::{Caps, Machine};
use crate::vocabulary::MocsClass;

/// What MOCS entry `index` means for coherency on `machine`.
pub fn mocs_class(machine: &Machine, index: u8) -> MocsClass {
    let bypasses = machine.caps.contains(Caps::LLC_BYPASS_MOCS) && matches!(index, 16 | 17);
    if bypasses { MocsClass::BypassLlc } else { MocsClass::PageTable }
}
