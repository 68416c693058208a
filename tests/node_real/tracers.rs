//! Concurrent tracers, the remains of a killed one, and threads whose names look like lines of the trace.

use std::fs;
use std::path::Path;

use gem_coherency::backend::Drm;
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::vocabulary::KernelVersion;
use gemtool::kernel_trace::{EventKind, TraceEvent, Tracer};

use super::{Bench, Skip, Test, test};

pub const TESTS: &[Test] = &[test!(tracers_leave_each_other_alone), test!(a_threads_name_hides_nothing)];

/// Returns the probes that the tracer lacks, but for the tracepoints of Linux 5.10, whose addresses it hides.
pub(super) fn missing(tracer: &Tracer, kernel: KernelVersion) -> Vec<&'static str> {
    let hidden = |name: &str| kernel == KernelRules::OLDEST && name.starts_with("i915_gem_object_");
    tracer.missing().iter().copied().filter(|name| !hidden(name)).collect()
}

/// Creates an object in a thread with this name.
fn create(bench: &Bench, name: &str) {
    std::thread::scope(|scope| {
        let made = std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, || {
            let node = bench.open();
            let created = node.create(4096).unwrap();
            node.close(created.handle).unwrap();
        });
        made.unwrap().join().unwrap();
    });
}

/// Returns how many objects of a thread with this name got a handle, by the trace.
fn named(seen: &[TraceEvent], name: &str) -> usize {
    seen.iter()
        .filter(|seen| seen.comm == name && matches!(seen.what, EventKind::HandleCreated { .. }))
        .count()
}

fn tracers_leave_each_other_alone(bench: &Bench) -> Skip {
    let mut first = match Tracer::start() {
        Ok(tracer) => tracer,
        Err(why) => return Some(why.to_string()),
    };
    // The remains of a killed tracer: an instance and a kprobe, both unlocked.
    let root = Path::new("/sys/kernel/tracing");
    let dead = root.join("instances/gemco_77");
    fs::create_dir(&dead).unwrap();
    let probes = root.join("kprobe_events");
    let define = |text| {
        use std::io::Write;
        fs::OpenOptions::new().append(true).open(&probes).unwrap().write_all(text).unwrap();
    };
    define(b"p:gemco_77/gemco_left drm_clflush_sg\n");
    {
        let mut second = Tracer::start().unwrap();
        assert!(!dead.exists() && !fs::read_to_string(&probes).unwrap().contains("gemco_77"), "left behind");
        create(bench, "both");
        for tracer in [&mut first, &mut second] {
            assert_eq!(named(&tracer.take().unwrap(), "both"), 1);
        }
    }
    create(bench, "one");
    assert_eq!(named(&first.take().unwrap(), "one"), 1, "its probes are gone");
    drop(first);
    assert!(!fs::read_to_string(&probes).unwrap().contains("gemco_"), "a tracer leaves nothing");
    None
}

fn a_threads_name_hides_nothing(bench: &Bench) -> Skip {
    let mut tracer = match Tracer::start() {
        Ok(tracer) => tracer,
        Err(why) => return Some(why.to_string()),
    };
    for name in ["a-1 [0] 1.0: e:", "x\ny-1 [0] 1.0:", "CPU:0 [LOST 9", "\n\n\n", "\u{1b}[2J", "plain"] {
        create(bench, name);
        let seen = tracer.take().unwrap();
        assert_eq!(named(&seen, name), 1, "{name:?}: {seen:#?}");
    }
    None
}
