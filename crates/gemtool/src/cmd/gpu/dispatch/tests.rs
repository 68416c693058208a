//! The path of a real device: a batch on the GPU, prepared by the library.

use clap::Parser;
use gem_coherency::device::Device;
use gem_coherency::policy::{Rule, Verdict};
use gemtool::script::Target;

use super::{DispatchReport, run_on};
use crate::args::{Args, Command};

/// Runs a shader of the repository on a device without the functions of a software one.
fn on_gpu(device: &str, arguments: &str) -> DispatchReport {
    gem_coherency_sim::link();
    let shaders = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shaders");
    let line = format!("gemtool dispatch {shaders}/{arguments}");
    let Command::Dispatch(args) = Args::parse_from(line.split(' ')).command else { panic!("{line}") };
    let target = Target::from_device(Device::open(device).unwrap());
    run_on(&target, &args).unwrap_or_else(|failure| panic!("{line}: {failure}"))
}

#[test]
fn the_library_flushes_and_the_gpu_computes() {
    for (device, mocs, flushed, rule) in [
        ("sim:jsl", "bypass-llc", (Verdict::Flush, 16), Rule::BypassMocsRead),
        ("sim:jsl", "page-table", (Verdict::NotNeeded, 0), Rule::LlcCoherent),
        ("sim:glk", "page-table", (Verdict::Flush, 16), Rule::NonCoherentRead),
    ] {
        let report = on_gpu(
            device,
            &format!(
                "add.spv --groups 16 --surface 0=1024,fill=counter --surface 1=1024 --mocs {mocs} --print 1=1024"
            ),
        );
        let read = &report.surfaces.iter().find(|one| one.binding.to_string() == "0").unwrap().flush;
        let seen = read.as_ref().map(|one| ((one.verdict, one.lines), one.rule));
        assert_eq!(seen, Some((flushed, rule)), "{device} {mocs}");
        assert!(report.cost.is_none() && report.is_prepared && report.passed());
        let sums: Vec<u8> = (0..256_u32).flat_map(|number| (number + 1).to_le_bytes()).collect();
        assert_eq!(report.contents[0].bytes, sums, "{device} {mocs}");
    }
}

#[test]
fn a_fragment_shader_and_push_constants_run_there_too() {
    let shade = "shade.spv --extent 9x3 --surface in0=432,fill=0000803f --surface out0=432 --spec 0=0.25";
    let report = on_gpu("sim:tgl", &format!("{shade} --print out0=432"));
    let quarter: Vec<u8> = [0.25_f32; 108].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(report.contents[0].bytes, quarter);
    let cut = "cut.spv --groups 2 --surface 0=128,fill=11 --surface 1=128,fill=22 --push 20";
    let report = on_gpu("sim:skl", &format!("{cut} --print 1=128"));
    let bytes = &report.contents[0].bytes;
    assert_eq!((&bytes[..80], &bytes[80..]), (&[0x11; 80][..], &[0x22; 48][..]));
}
