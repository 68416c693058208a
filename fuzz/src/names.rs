//! Names of software devices, as an input chooses them.

use gem_coherency::platform;
use gem_coherency::policy::Rule;
use gem_coherency::xe;
use gem_coherency_sim::{InjectedFault, SimDevice};

use crate::input::Input;

/// Kernels whose rules differ.
const KERNELS: &[&str] = &["6.12", "6.1", "5.14", "5.15", "6.2", "6.6", "7.3"];

/// A name: any platform, most kernels, and most of what a name may say besides.
pub fn choose(input: &mut Input<'_>) -> String {
    let mut name = String::from("sim:");
    name += input.of(platform::all()).name;
    name += ",kernel=";
    name += input.of(KERNELS);
    let more = input.byte();
    if more & 1 != 0 {
        name += &format!(",adversary=on,seed={}", input.byte());
    }
    if more & 2 != 0 {
        name += ",memory=coherent";
    }
    if more & 0xc == 0xc {
        name += ",edram=1";
    }
    name
}

/// The same with faults, and now and then without one of the kernel's rules.
pub fn choose_with_faults(input: &mut Input<'_>) -> String {
    let mut name = choose(input);
    for _ in 0..input.byte() % 4 {
        name += &format!(",fault={}@{}", input.of(InjectedFault::ALL), 1 + u16::from(input.byte()));
    }
    if input.one_in(16) {
        name += &format!(",without={}", input.of(Rule::ALL));
    }
    name
}

/// A name of a device of xe: any platform, and most of what a name may say besides. Batches take no time, so that none is waited for.
pub fn choose_of_xe(input: &mut Input<'_>) -> String {
    let names: Vec<_> = xe::all().iter().map(xe::Platform::name).collect();
    let platform = input.of(&names);
    let mut name =
        format!("sim:{platform},driver=xe,kernel={},gpu=instant", input.of(&["7.2", "6.12", "7.3"]));
    let more = input.byte();
    if more & 1 != 0 {
        name += &format!(",adversary=on,seed={}", input.byte());
    }
    if more & 2 != 0 {
        name += ",memory=coherent";
    }
    if more & 0xc == 0xc {
        name += &format!(",without={}", input.of(xe::Rule::ALL));
    }
    for _ in 0..input.byte() % 3 {
        name += &format!(",fault={}@{}", input.of(InjectedFault::ALL), 1 + u16::from(input.byte()));
    }
    name
}

/// The device of that name; without eDRAM where the platform never has it.
///
/// # Errors
/// The error that the library gives.
pub fn open(name: &str) -> gem_coherency::Result<SimDevice> {
    SimDevice::open(name).or_else(|_| SimDevice::open(&name.replace(",edram=1", "")))
}
