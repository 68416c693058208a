//! Differences that were found once and mended, each with the shortest calls that showed it; they are
//! made again in every comparison.

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::vocabulary::KernelVersion;

use super::call::Call;
use super::shapes;

/// A difference that was mended.
#[derive(Debug)]
pub struct Mended {
    /// A description of the difference.
    pub name: &'static str,
    /// Returns whether it could be seen on a machine.
    pub on: fn(Machine) -> bool,
    /// The calls that showed it.
    pub calls: fn(Machine) -> Vec<Call>,
}

fn call(name: &str) -> Call {
    Call::first(shapes::named(name))
}

fn any(_: Machine) -> bool {
    true
}

fn discrete(machine: Machine) -> bool {
    machine.caps.contains(Caps::DISCRETE)
}

fn integrated(machine: Machine) -> bool {
    !discrete(machine)
}

fn before_6_2(machine: Machine) -> bool {
    machine.kernel < KernelVersion::new(6, 2)
}

/// Without an LLC, and with levels that the aperture cannot serve.
fn snooped_aperture(machine: Machine) -> bool {
    machine.caps.contains(Caps::SNOOP | Caps::APERTURE) && !machine.caps.contains(Caps::LLC)
}

/// A touched mapping through the aperture.
pub fn touched_aperture() -> [Call; 3] {
    [call("GEM_MMAP_OFFSET").with("flags", 0), call("mmap"), call("load")]
}

/// The way of the device's own map mode to a touched mapping.
fn touched(machine: Machine) -> [Call; 3] {
    let mode = if discrete(machine) { 4 } else { 2 };
    [call("GEM_MMAP_OFFSET").with("flags", mode), call("mmap"), call("load")]
}

/// Returns calls whose flushes show whether the object has pages, and whether it is dirty.
fn probes() -> [Call; 2] {
    let domain = |read, write| call("GEM_SET_DOMAIN").with("read_domains", read).with("write_domain", write);
    [domain(0x40, 0x40), domain(1, 1)]
}

/// All of them.
pub const ALL: &[Mended] = &[
    Mended {
        name: "a touched GEM_MMAP mapping brought pages in",
        on: integrated,
        calls: |_| [vec![call("GEM_CREATE"), call("GEM_MMAP"), call("load")], probes().to_vec()].concat(),
    },
    Mended {
        name: "a touched mapping of a dma-buf brought pages in",
        on: integrated,
        calls: |_| {
            let map = [call("HANDLE_TO_FD"), own(call("mmap_dma_buf")), call("load")];
            [vec![call("GEM_CREATE")], map.to_vec(), probes().to_vec()].concat()
        },
    },
    Mended {
        name: "a touched mapping of a discrete device counted as pages",
        on: discrete,
        calls: |machine| {
            let touched = touched(machine).to_vec();
            [
                vec![call("GEM_CREATE")],
                touched,
                vec![call("GEM_MADVISE"), call("GEM_MADVISE").with("madv", 0)],
            ]
            .concat()
        },
    },
    Mended {
        name: "a touch through the aperture that is refused brought no pages in",
        on: snooped_aperture,
        calls: |_| {
            let cached = call("GEM_SET_CACHING").with("caching", 1);
            [vec![call("GEM_CREATE"), cached], touched_aperture().to_vec(), probes().to_vec()].concat()
        },
    },
    Mended {
        name: "6.12 refused to map an object from its middle",
        on: any,
        calls: |machine| {
            let [offset, map, load] = touched(machine);
            vec![call("GEM_CREATE"), offset, map.with("shift", 4096).with("len", 8192), load]
        },
    },
    Mended {
        name: "a file mapped an object that it had closed",
        on: any,
        calls: |machine| {
            let [offset, map, _] = touched(machine);
            // A dma-buf keeps the object.
            vec![call("GEM_CREATE"), offset, call("HANDLE_TO_FD"), call("GEM_CLOSE"), map]
        },
    },
    Mended {
        name: "PREAD flushed whole lines, and not the bytes that were asked for",
        on: integrated,
        calls: |_| {
            let [to_gtt, _] = probes();
            vec![call("GEM_CREATE"), to_gtt, call("GEM_PREAD").with("offset", 100).with("size", 100)]
        },
    },
    Mended {
        name: "PWRITE flushed whole lines, and not the bytes that were asked for",
        on: integrated,
        calls: |_| {
            let [to_gtt, _] = probes();
            vec![call("GEM_CREATE"), to_gtt, call("GEM_PWRITE").with("offset", 100).with("size", 100)]
        },
    },
    Mended {
        name: "a copy that faulted in its middle left other bytes",
        on: integrated,
        calls: |_| {
            let copy =
                call("GEM_PWRITE").with("size", 4096).with("data_ptr", crate::processes::arena::HOLE - 64);
            vec![call("GEM_CREATE"), copy, call("GEM_PREAD").with("size", 4096)]
        },
    },
    Mended { name: "MOD_CTX succeeded under 6.1", on: before_6_2, calls: |_| vec![call("legacy_MOD_CTX")] },
    Mended {
        name: "a relocation that failed left other presumed offsets",
        on: any,
        calls: |_| {
            // The last list: the nineteenth relocation is refused.
            let mut refused = call("GEM_EXECBUFFER2_WR relocations");
            refused.picks[0] = refused.shape.fields[0].values.len() - 1;
            vec![call("GEM_CREATE"), refused]
        },
    },
    Mended {
        name: "an address that was put into a process's memory did not show there",
        on: any,
        calls: |_| vec![call("GEM_USERPTR"), call("GEM_EXECBUFFER2_WR relocations")],
    },
    Mended {
        name: "no address space was ever named 0",
        on: any,
        calls: |_| {
            vec![call("VM_CREATE"), call("VM_DESTROY").with("vm_id", 0), call("VM_CREATE"), call("VM_CREATE")]
        },
    },
    Mended {
        name: "a dumb buffer's pitch was rounded up to another multiple where there is no display",
        on: any,
        calls: |_| vec![call("MODE_CREATE_DUMB")],
    },
    Mended {
        name: "7.2 takes the display of the 945GM for another one, whose cursor is smaller",
        on: |machine| machine.platform.name == "i945gm",
        calls: |_| vec![call("GET_CAP").with("capability", 9)],
    },
];

/// The call on the descriptor that was returned first, after the foreign dma-buf.
fn own(mut call: Call) -> Call {
    call.picks[0] = 1;
    call
}

/// A difference that shows only where the machine slept.
pub const ASLEEP: &[Mended] = &[Mended {
    name: "a resume did not know that a submission had bound the object into the GGTT",
    on: integrated,
    calls: |_| {
        let [to_gtt, to_cpu] = probes();
        vec![call("GEM_CREATE"), call("GEM_EXECBUFFER2_WR"), call("suspend"), to_cpu, to_gtt]
    },
}];
