//! Shaders on the render engine, with the library's flushes and without them.

use gem_coherency::Errno;
use gem_coherency::platform;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode};
use gem_coherency_exercise::commands::shaders;
use gem_coherency_exercise::{Region, Walker};

use crate::{NEW, read, rig, write};

#[test]
fn a_shader_passes_bytes_of_the_cpu_to_the_cpu() {
    for platform in platform::all() {
        let rig = rig(&format!("sim:{}", platform.name));
        let shader = match shaders::copy(rig.device.machine()) {
            Ok(shader) => shader,
            Err(error) => {
                assert!(error.errno() == Errno::ENODEV && platform.graphics.major < 8, "{platform}: {error}");
                continue;
            }
        };
        let bo = || rig.device.alloc(gem_coherency::device::AllocRequest::new(8192)).unwrap();
        let (from, to) = (bo(), bo());
        write(&from, 0, &NEW);
        write(&to, 0, b"old data");
        let mut walker = Walker::new(&rig.device, &shader).unwrap();
        walker.surface(Region::new(&from, 0), 128, Access::Read).unwrap();
        walker.surface(Region::new(&to, 0), 128, Access::Write).unwrap();
        walker.submit(1).unwrap().wait(None).unwrap();
        assert_eq!(read(&to, 0), NEW, "{platform}");
        assert_eq!(rig.soft.take_gpu_hangs(), [], "{platform}");
    }
}

#[test]
fn the_reports_name_the_rule_of_the_mocs_class() {
    let rig = rig("sim:jsl");
    let shader = shaders::copy(rig.device.machine()).unwrap();
    let (from, to) = (rig.bo(CachingMode::Cached, MmapMode::Wb), rig.bo(CachingMode::Cached, MmapMode::Wb));
    for (entry, verdict, rule) in
        [(2, Verdict::NotNeeded, Rule::LlcCoherent), (16, Verdict::Flush, Rule::BypassMocsRead)]
    {
        write(&from, 0, &[entry; 8]);
        let mut walker = Walker::new(&rig.device, &shader).unwrap();
        walker.surface(Region::new(&from, 0).mocs(entry), 128, Access::Read).unwrap();
        walker.surface(Region::new(&to, 0), 128, Access::Write).unwrap();
        let submitted = walker.submit(1).unwrap();
        submitted.wait(None).unwrap();
        let decision = submitted.reports()[0].decision;
        assert_eq!((decision.verdict, decision.rule), (verdict, rule), "entry {entry}");
        assert_eq!(read(&to, 0), [entry; 8]);
    }
}
