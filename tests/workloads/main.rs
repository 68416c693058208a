//! Workloads that read old bytes if a flush of the kernel is missing.
//!
//! `workloads NAME...` runs them on the first i915 node. Each creates its own objects, and prints "NAME: right", or how many
//! dwords were old. They need a machine whose memory is not coherent: `ci/vm-cache needed` runs them in virtual machines,
//! with and without the kernel's flushes. Without names, they are listed.

mod bench;
#[path = "../node_real/foreign_objects.rs"]
#[expect(dead_code, reason = "the module is shared: no workload imports from another GPU")]
mod foreign_objects;
mod situations;
mod system;
mod udmabuf;

use std::env;
use std::process::ExitCode;

use bench::Bench;
use gem_coherency::backend::node::find;
use situations::WORKLOADS;

fn main() -> ExitCode {
    let names: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if names.is_empty() {
        WORKLOADS.iter().for_each(|workload| println!("{}: {}", workload.name, workload.about));
        return ExitCode::SUCCESS;
    }
    for name in names {
        let Some(workload) = WORKLOADS.iter().find(|workload| workload.name == name) else {
            eprintln!("unknown workload '{name}' (without names, they are listed)");
            return ExitCode::from(2);
        };
        let bench = match find().first().map(Bench::open) {
            Ok(bench) => bench,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        };
        println!("{name}: {}", (workload.run)(&bench));
    }
    ExitCode::SUCCESS
}
