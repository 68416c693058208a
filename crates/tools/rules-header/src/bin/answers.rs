//! Prints the platform and the capabilities of a device for each PCI ID, kernel and answer to GETPARAM, so that
//! `ci/rules-header` can compare them with those of `gem_coherency_rules.h`.
//!
//! A line has the ID, the kernel's version (0 0 for the newest), the answers to HAS_LLC, HAS_WT and MMAP_GTT_COHERENT (-1 for
//! none), the capabilities and the name.

use gem_coherency_policy::platform::{Facts, Machine, ids};
use gem_coherency_policy::vocabulary::KernelVersion;

/// Kernels before and after each change of a platform.
const KERNELS: [(u16, u16); 8] = [(5, 10), (5, 14), (6, 4), (6, 5), (6, 11), (6, 12), (7, 3), (0, 0)];

/// The answers to a question of GETPARAM.
const ANSWERS: [Option<bool>; 3] = [None, Some(false), Some(true)];

fn main() {
    let number = |answer: Option<bool>| answer.map_or(-1, i32::from);
    for id in ids().iter().filter(|row| row.subsystem.is_none()).map(|row| row.id) {
        for (major, minor) in KERNELS {
            let kernel = KernelVersion::new(if major == 0 { u16::MAX } else { major }, minor);
            for combination in 0..ANSWERS.len().pow(3) {
                let [has_llc, has_wt, coherent_ggtt] =
                    [1, 3, 9].map(|weight| ANSWERS[combination / weight % ANSWERS.len()]);
                let facts = Facts { chipset_id: id, has_llc, has_wt, coherent_ggtt };
                let machine = Machine::from_facts(&facts, kernel).expect("the ID is listed");
                let (llc, wt, coherent) = (number(has_llc), number(has_wt), number(coherent_ggtt));
                let (caps, name) = (machine.caps.bits(), machine.platform.name);
                println!("{id:x} {major} {minor} {llc} {wt} {coherent} {caps:x} {name}");
            }
        }
    }
}
