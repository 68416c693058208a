//! Old bytes on the software i915 and on the real driver in a machine with a cache.
//!
//! Both get the same random calls, stores and flushes, many of them forgotten.
//!
//! Without arguments it judges software devices by an oracle: right ones, which must show what it allows, and wrong
//! ones, which must not. With `--device /dev/dri/card0 --sim NAME` it makes the same steps in turn on the driver of a machine with
//! a cache (`crates/vm/run --cache`) and on the software device. Each read must show the same value on both, and the
//! one that the oracle predicts. With `--adversary`, where lines move by themselves, each must show one that the oracle allows.
//!
//! ```text
//! stores --device /dev/dri/card0 --sim sim:glk,kernel=6.12 [--steps N] [--seed N] [--adversary]
//! ```

mod device;
mod line;
mod oracle;
mod random;
mod replay;
mod step;
mod wrong;

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use gem_coherency::backend::Drm;
use gem_coherency::backend::node::Node;
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency_memory_model::{Assumption, Hardware};
use gem_coherency_sim::SimDevice;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use device::Device;
use oracle::Oracle;
use replay::{Counts, Failure, Judged, replay};
use step::Step;

/// The arguments of the program.
#[derive(Debug)]
struct Args {
    device: Option<PathBuf>,
    sim: String,
    steps: u64,
    seed: u64,
    adversary: bool,
}

fn main() -> ExitCode {
    let done = parse(std::env::args().skip(1)).and_then(|args| match &args.device {
        None => Ok(wrong::all()),
        Some(device) => beside_the_driver(&args, device),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("stores: {why}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args { device: None, sim: String::new(), steps: 2000, seed: 1, adversary: false };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("'{text}' is not a number"));
        match word.as_str() {
            "--device" => args.device = Some(PathBuf::from(value()?)),
            "--sim" => args.sim = value()?,
            "--steps" => args.steps = number(value()?)?,
            "--seed" => args.seed = number(value()?)?,
            "--adversary" => args.adversary = true,
            // An argument that cargo test passes on.
            _ if args.device.is_none() => {}
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    Ok(args)
}

/// The driver and the software device; returns whether no read was wrong.
fn beside_the_driver(args: &Args, path: &PathBuf) -> Result<bool, String> {
    let node = Node::open(path).map_err(|error| error.to_string())?;
    // The machine's choice: a snooped write of the GPU takes the line out of the CPU's cache.
    let dropped = Assumption::SnoopedWriteStaysCached;
    let soft = SimDevice::open(&format!("{},drop={dropped}", args.sim)).map_err(|error| error.to_string())?;
    let machine = soft.machine();
    let rules = KernelRules::of(machine.kernel).map_err(|error| error.to_string())?;
    let hardware = Hardware::new(machine.caps).without(dropped);
    let oracle = Oracle::new(hardware, rules, args.adversary);
    let judged = |name, drm: Arc<dyn Drm>| -> Result<Judged, String> {
        let device = Device::new(drm, machine).map_err(|error| format!("{name}: {error}"))?;
        Ok(Judged { name, device, oracle: oracle.clone() })
    };
    let mut devices = [judged("the driver", Arc::new(node))?, judged("the software device", Arc::new(soft))?];
    let (counts, failure) = run(&mut devices, &machine, args.steps, args.seed, args.adversary);
    let Counts { steps, reads, old, open } = counts;
    if let Some(failure) = &failure {
        print!("{failure}");
    }
    let (name, kernel) = (machine.platform.name, machine.kernel);
    let mode = if args.adversary { "adversary" } else { "exact" };
    let wrong = u8::from(failure.is_some());
    println!("summary | {name} | {kernel} | {mode} | {steps} | {reads} | {old} | {open} | {wrong} |");
    Ok(failure.is_none())
}

/// Makes random sequences until so many steps were made, or one fails; then makes that one as short as it can.
fn run(
    devices: &mut [Judged],
    machine: &Machine,
    steps: u64,
    seed: u64,
    moves: bool,
) -> (Counts, Option<Failure>) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, max_shrink_iters: 1000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let sequences = random::sequences(machine);
    let devices = RefCell::new(devices);
    let test = |steps: &[Step]| {
        let prompt = if moves { steps.to_vec() } else { step::prompt(steps) };
        replay(&mut devices.borrow_mut(), &prompt, !moves)
    };
    let mut counts = Counts::default();
    while counts.steps < steps {
        let tree = sequences.new_tree(&mut runner).expect("a sequence");
        let failure = match test(&tree.current()) {
            Ok(done) => {
                counts = counts.and(done);
                continue;
            }
            Err(failure) => failure,
        };
        // Where lines move by themselves, it may not fail again.
        let last = RefCell::new(failure);
        let _ = runner.run_one(tree, |steps| {
            test(&steps).map(drop).map_err(|failure| {
                *last.borrow_mut() = failure;
                TestCaseError::fail("wrong")
            })
        });
        return (counts, Some(last.into_inner()));
    }
    (counts, None)
}
