//! Operations of the kernel on every object.

use std::fs;

use super::bench::SIZE;

/// The cgroup of the processes, from which the kernel takes memory back.
const GROUP: &str = "/dev/shm/group/workloads";

/// Swaps out the pages of all objects that are idle.
pub fn swap_out() {
    // Unbound, bound, retire, shrink all: i915 releases them.
    write(&[("/sys/kernel/debug/dri/0/i915_gem_drop_caches", "0x27")]);
    // An error says that there was less to take back.
    let _ = fs::write(format!("{GROUP}/memory.reclaim"), "64M");
    let file = format!("{GROUP}/memory.swap.current");
    let swapped: u64 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    assert!(swapped >= SIZE, "{swapped} bytes are swapped out");
}

/// Suspends the machine and resumes it. The firmware is not asked to cut the power.
pub fn suspend() {
    all_but_the_last_step("mem");
}

/// Makes the image for a hibernation, and resumes without reading it.
pub fn hibernate() {
    all_but_the_last_step("disk");
}

fn all_but_the_last_step(state: &str) {
    write(&[
        ("/sys/module/suspend/parameters/pm_test_delay", "0"),
        ("/sys/power/pm_test", "core"),
        ("/sys/power/state", state),
    ]);
}

fn write(files: &[(&str, &str)]) {
    files
        .iter()
        .for_each(|(file, text)| fs::write(file, text).unwrap_or_else(|error| panic!("{file}: {error}")));
}
