//! Scripts, parsed and carried out.

use std::sync::Arc;

use gem_coherency_sim::SimDevice;
use gemtool::script::{self, Action, Attempt, Condition, Making, Script, Step, Target};

/// Bytes of all BOs of a script that is carried out; a larger one takes long, and does what it is told.
const MOST_BYTES: u64 = 1 << 20;
/// Lines of a script that is carried out.
const MOST_STEPS: usize = 60;

/// Devices that differ in what they do.
const DEVICES: &[&str] = &[
    "sim:glk",
    "sim:jsl,adversary=on",
    "sim:hsw,kernel=6.1",
    "sim:mtl",
    "sim:dg2",
    "sim:i965gm,memory=coherent",
    "sim:jsl,kernel=5.14,fault=enomem@7",
];

/// Reads the bytes as a script, and carries it out.
///
/// # Panics
/// If it finds a fault.
pub fn check(bytes: &[u8]) {
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let script = match script::parse_bytes(bytes) {
        Ok(script) => script,
        Err(error) => {
            let place = error.place();
            assert!((1..=lines).contains(&place.line), "{place:?} of {lines} lines");
            assert!((1..=bytes.len() + 2).contains(&place.column), "{place:?}");
            // The text that is shown must not move the cursor.
            assert!(!error.to_string().chars().any(|c| c.is_control() && c != '\n'), "{error:?}");
            return;
        }
    };
    says_the_same(&script);
    if script.len() > MOST_STEPS
        || bytes_of(&script) > MOST_BYTES
        || script.steps().any(|step| opens_path(&step))
    {
        return;
    }
    let device = DEVICES[bytes.len() % DEVICES.len()];
    let reports = [(); 2].map(|()| {
        let soft = Arc::new(SimDevice::open(device).expect("a good name"));
        let report = Target::from_soft(Arc::clone(&soft)).map(|target| script::run(&script, &target));
        assert_eq!((soft.objects_alive(), soft.bytes_in_use()), (0, 0), "left on {device}");
        report.expect("a device that is known").steps
    });
    let [once, again] = reports;
    assert_eq!(once, again, "the second time on {device}");
}

/// Checks that the text of each step is parsed as the same step.
fn says_the_same(script: &Script) {
    let texts: Vec<String> = script.steps().map(|step| print(&step)).collect();
    let again = script::parse(&texts.join("\n")).expect("a script's own text");
    assert_eq!(again.len(), texts.len());
    for (one, other) in script.steps().zip(again.steps()) {
        assert_eq!(
            (&one.text, &one.conditions, &one.action),
            (&other.text, &other.conditions, &other.action),
        );
    }
}

/// A step as a line.
fn print(step: &Step<'_>) -> String {
    let conditions: Vec<String> = step.conditions.iter().map(Condition::to_string).collect();
    match conditions.is_empty() {
        true => step.text.clone(),
        false => format!("where {}: {}", conditions.join(" "), step.text),
    }
}

/// Whether a step opens a file of this machine.
fn opens_path(step: &Step<'_>) -> bool {
    match &step.action {
        Action::Make(_, Making::Open(Some(device)))
        | Action::ExpectError { attempt: Attempt::Make(Making::Open(Some(device))), .. } => {
            !device.starts_with(gem_coherency_sim::PREFIX)
        }
        Action::Make(..)
        | Action::ExpectError { .. }
        | Action::Needs(_)
        | Action::Do(_)
        | Action::Expect { .. } => false,
    }
}

/// Bytes of all BOs, if all steps are done.
fn bytes_of(script: &Script) -> u64 {
    script.steps().fold(0, |sum, step| match &step.action {
        Action::Make(_, Making::Alloc { size, .. } | Making::Userptr { size, .. })
        | Action::ExpectError {
            attempt: Attempt::Make(Making::Alloc { size, .. } | Making::Userptr { size, .. }),
            ..
        } => u64::saturating_add(sum, *size),
        Action::Make(_, Making::Export(_) | Making::Import { .. } | Making::Open(_))
        | Action::ExpectError {
            attempt:
                Attempt::Make(Making::Export(_) | Making::Import { .. } | Making::Open(_)) | Attempt::Do(_),
            ..
        }
        | Action::Needs(_)
        | Action::Do(_)
        | Action::Expect { .. } => sum,
    })
}
