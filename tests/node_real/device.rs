//! The device: opening it, its reported facts, and its removal.

use gem_coherency::OpenError;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::node::{Node, find_in};
use gem_coherency::backend::{Drm, ExecObject, Param};
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::vocabulary::{Access, KernelVersion, MmapMode};

use crate::platforms::Caching;
use crate::{Bench, Skip, Test, errno, expected, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    test!(the_driver_is_i915),
    test!(another_driver_is_reported_by_name),
    test!(a_node_that_may_not_be_opened_is_eacces),
    test!(params_agree_with_the_platform),
    test!(memory_regions_agree_with_the_platform),
    test!(a_dropped_node_leaves_nothing),
    test!(a_wedged_gpu_is_eio, harms),
    test!(an_unplugged_device_is_enodev, harms),
];

fn the_driver_is_i915(bench: &Bench) -> Skip {
    let version = bench.open().version().unwrap();
    assert_eq!(version.name, "i915");
    assert_eq!(version.version, (1, 6, 0));
    assert!(!version.description.is_empty() && !version.date.is_empty(), "{version:?}");
    None
}

fn another_driver_is_reported_by_name(bench: &Bench) -> Skip {
    let is_other = |(path, error): &(PathBuf, Error)| {
        let Error::Open(OpenError::NotI915 { driver, .. }) = error else { return None };
        Some((path.clone(), driver.clone()))
    };
    let Some((path, driver)) = bench.found.others.iter().find_map(is_other) else {
        return Some("there is no DRM device of another driver".to_owned());
    };
    let text = Node::open(&path).unwrap_err().to_string();
    assert!(text.contains(&driver) && text.contains("i915"), "{text}");

    let directory = env::temp_dir().join(format!("node-real-{}", std::process::id()));
    fs::create_dir(&directory).unwrap();
    symlink(&path, directory.join("card7")).unwrap();
    let text = find_in(&directory).first().unwrap_err().to_string();
    fs::remove_dir_all(&directory).unwrap();
    assert!(text.contains(&driver), "{text}");
    None
}

/// Opens the path and prints the error: the part of a test that another user runs.
pub fn open_and_say(path: Option<String>) -> ExitCode {
    match Node::open(path.unwrap_or_default()) {
        Ok(_) => println!("opened"),
        Err(error) => println!("{error}"),
    }
    ExitCode::SUCCESS
}

fn a_node_that_may_not_be_opened_is_eacces(bench: &Bench) -> Skip {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Some("not root, so it cannot become a user without rights".to_owned());
    }
    if fs::metadata(&bench.path).unwrap().permissions().mode() & 0o006 != 0 {
        return Some("the node is open to everyone".to_owned());
    }
    let own = env::current_exe().unwrap();
    let child = Command::new(own).arg("--open").arg(&bench.path).uid(65534).gid(65534).output();
    let Ok(output) = child else {
        return Some("the test's binary cannot be run by another user".to_owned());
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("EACCES") && text.contains("'render'"), "{text}");
    None
}

fn params_agree_with_the_platform(bench: &Bench) -> Skip {
    let node = bench.open();
    let expected = expected!(bench);
    let llc = matches!(expected.caching, Caching::Llc | Caching::LlcWt);
    assert_eq!(node.param(Param::HasLlc).unwrap(), i32::from(llc));
    assert_eq!(node.param(Param::HasWt).unwrap() != 0, expected.caching == Caching::LlcWt);
    assert_eq!(node.param(Param::MmapVersion).unwrap(), 1);
    let gtt = if node.kernel() < KernelVersion::new(6, 12) { 4 } else { 5 };
    assert_eq!(node.param(Param::MmapGttVersion).unwrap(), gtt);
    assert!([0, 1].contains(&node.param(Param::MmapGttCoherent).unwrap()));
    assert!((0..=0xff).contains(&node.param(Param::Revision).unwrap()));
    None
}

fn memory_regions_agree_with_the_platform(bench: &Bench) -> Skip {
    let node = bench.open();
    if node.kernel() == KernelRules::OLDEST {
        errno(Errno::EINVAL, node.memory_regions());
        return Some("Linux 5.10 does not report its memory regions".into());
    }
    let regions = node.memory_regions().unwrap();
    assert!(regions.iter().any(|region| region.class == 0 && region.probed_bytes > 0), "{regions:?}");
    let device = regions.iter().any(|region| region.class == 1);
    assert_eq!(device, expected!(bench).is_discrete(), "{regions:?}");
    None
}

/// Returns the driver's number of objects, from debugfs.
fn objects() -> Option<u64> {
    let text = fs::read_to_string("/sys/kernel/debug/dri/0/i915_gem_objects").ok()?;
    let before = &text[..text.find("shrinkable")?];
    before.split_whitespace().next_back()?.parse().ok()
}

fn a_dropped_node_leaves_nothing(bench: &Bench) -> Skip {
    // Run the batch once before, so that the driver's own objects exist.
    bench.open().execute(&[]).unwrap();
    let settle = || {
        let mut last = objects()?;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            thread::sleep(Duration::from_millis(100));
            last = last.min(objects()?);
        }
        Some(last)
    };
    let Some(before) = settle() else {
        return Some("debugfs does not count objects here".to_owned());
    };
    const NODES: usize = 20;
    let nodes: Vec<Node> = (0..NODES).map(|_| bench.open()).collect();
    for node in &nodes {
        let created = node.create(4096).unwrap();
        node.execute(&[ExecObject { handle: created.handle, access: Access::Read }]).unwrap();
        assert_eq!(node.open_counts().handles, 1);
    }
    let open = objects().unwrap();
    // Meanwhile the driver may free a few of its own.
    const OWN: u64 = 4;
    assert!(
        open >= before + 2 * NODES as u64 - OWN,
        "debugfs does not see the objects: {before}, then {open}"
    );
    drop(nodes);
    let after = settle().unwrap();
    // The driver keeps a few objects for itself, for example for Haswell's command parser, but not one per
    // node.
    assert!(after < before + NODES as u64 / 2, "{before} objects before, {open} open, {after} after");
    None
}

fn a_wedged_gpu_is_eio(bench: &Bench) -> Skip {
    let node = bench.open();
    let created = node.create(4096).unwrap();
    node.execute(&[]).unwrap();
    let wedge = fs::write("/sys/kernel/debug/dri/0/i915_params/reset", "0")
        .and_then(|()| fs::write("/sys/kernel/debug/dri/0/i915_wedged", "1"));
    if let Err(error) = wedge {
        return Some(format!("cannot be wedged: {error}"));
    }
    errno(Errno::EIO, node.execute(&[ExecObject { handle: created.handle, access: Access::Read }]));
    node.wait(created.handle, -1).unwrap();
    node.close(created.handle).unwrap();
    None
}

fn an_unplugged_device_is_enodev(bench: &Bench) -> Skip {
    let node = bench.open();
    let created = node.create(4096).unwrap();
    let rdev = fs::metadata(&bench.path).unwrap();
    let minor = nix::sys::stat::minor(rdev.rdev());
    let device = fs::canonicalize(format!("/sys/dev/char/226:{minor}/device"));
    let unbound = device.and_then(|device| {
        let name = device.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        fs::write(device.join("driver/unbind"), name)
    });
    if let Err(error) = unbound {
        return Some(format!("cannot be unplugged: {error}"));
    }
    errno(Errno::ENODEV, node.version());
    errno(Errno::ENODEV, node.create(4096));
    errno(Errno::ENODEV, node.map(created.handle, MmapMode::Wb, created.size_bytes));
    errno(Errno::ENODEV, node.close(created.handle));
    assert_eq!(node.open_counts().handles, 1);
    assert_eq!(node.close_errors(), 1);
    drop(node);
    errno(Errno::ENOENT, Node::open(&bench.path));
    None
}
