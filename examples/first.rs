//! A first program: a buffer that the CPU writes, the GPU reads and the CPU reads back.
//!
//! `cargo run --example first` runs on a software Gemini Lake; `cargo run --example first /dev/dri/renderD128` on a real device.

use gem_coherency::{Access, AllocRequest, CachingMode, Device, MmapMode, MocsClass, Result, Submission};

fn main() -> Result<()> {
    gem_coherency_sim::link(); // for sim:..., which a driver leaves out
    let name = std::env::args().nth(1).unwrap_or("sim:glk".to_owned());
    let device = Device::open(&name)?;

    let request = AllocRequest::new(64 << 10).caching(CachingMode::None).map(MmapMode::Wb);
    let bo = device.alloc(request)?;
    bo.write_bytes(4076, &[0xa5; 100])?;

    let read = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable };
    for report in device.submit(&[read])? {
        println!("{}: {} of {} lines flushed", report.decision.rule, report.lines, bo.size() / 64);
    }

    let mut bytes = [0; 100];
    let report = bo.read_bytes(4076, &mut bytes)?;
    println!("{}: {} lines invalidated", report.decision.rule, report.lines);
    assert_eq!(bytes, [0xa5; 100]);
    Ok(())
}
