//! Software devices and oracles that are wrong on purpose, to see that they are found.

use std::sync::Arc;

use gem_coherency::backend::Drm;
use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency_memory_model::Hardware;
use gem_coherency_sim::SimDevice;

use super::device::Device;
use super::oracle::Oracle;
use super::replay::Judged;
use super::run;

/// Steps of each.
const STEPS: u64 = 5_000;

/// A device, capabilities that the oracle does not know of, and whether the device shows something that it does not allow.
const CASES: &[(&str, Caps, bool)] = &[
    ("sim:glk", Caps::empty(), false),
    ("sim:glk,adversary=on,seed=7", Caps::empty(), false),
    ("sim:chv,kernel=6.1", Caps::empty(), false),
    ("sim:jsl,kernel=6.1", Caps::empty(), false),
    ("sim:jsl,adversary=on,seed=7", Caps::empty(), false),
    ("sim:hsw,adversary=on", Caps::empty(), false),
    ("sim:i965gm,adversary=on", Caps::empty(), false),
    ("sim:mtl,adversary=on", Caps::empty(), false),
    ("sim:glk,without=exec-flush", Caps::empty(), true),
    ("sim:glk,adversary=on,without=exec-flush", Caps::empty(), true),
    ("sim:glk,without=enter-cpu-stale", Caps::empty(), true),
    ("sim:glk,adversary=on,without=enter-cpu-stale", Caps::empty(), true),
    ("sim:glk,adversary=on,drop=clean-never-written-back", Caps::empty(), true),
    ("sim:jsl,drop=llc-gpu-writes-coherent", Caps::empty(), true),
    ("sim:glk,memory=coherent", Caps::empty(), true),
    ("sim:jsl", Caps::LLC_BYPASS_MOCS, true),
    ("sim:jsl,adversary=on", Caps::LLC_BYPASS_MOCS, true),
    ("sim:glk,adversary=on", Caps::SNOOP, true),
];

/// Runs all cases; returns whether each had its expected end.
pub fn all() -> bool {
    let mut failed = 0;
    for &(name, unknown, expected) in CASES {
        let soft = SimDevice::open(name).expect("a software device");
        let machine = soft.machine();
        let rules = KernelRules::of(machine.kernel).expect("the device has the kernel's rules");
        let moves = name.contains("adversary=on");
        let oracle = Oracle::new(Hardware::new(machine.caps.difference(unknown)), rules, moves);
        let drm: Arc<dyn Drm> = Arc::new(soft);
        let device = Device::new(drm, machine).expect("objects");
        let (counts, failure) = run(&mut [Judged { name, device, oracle }], &machine, STEPS, 1, moves);
        println!(
            "{name}, oracle without {unknown:?}: {counts:?}, {}",
            if failure.is_some() { "wrong" } else { "right" }
        );
        if failure.is_some() != expected {
            failed += 1;
            println!("FAILED: expected {}", if expected { "a wrong value" } else { "none" });
            if let Some(failure) = failure {
                print!("{failure}");
            }
        }
    }
    println!("{} cases, {failed} failed", CASES.len());
    failed == 0
}
