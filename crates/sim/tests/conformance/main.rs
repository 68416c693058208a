//! The software i915 against the real one, call by call.
//!
//! Without arguments it compares software devices with each other: alike ones, which must not differ,
//! and ones that were made wrong on purpose, which must. With `--device /dev/dri/card0 --sim NAME` it
//! makes the same calls in this process on the driver and in a simulated process on the software
//! device, every call in both before the next, and compares what they return, the structs, the
//! caller's memory, the contents of objects, and what the kernel flushed.
//!
//! ```text
//! conformance --device /dev/dri/card0 --sim sim:tgl,kernel=6.12 [--calls N] [--seed N]
//!             [--only random|enumerated|suspend] [--suspend] [--show] [--shapes GEM_P,mmap] [--wrong errno]
//! ```

mod call;
mod flushes;
mod known;
mod mended;
mod processes;
mod random;
mod replay;
mod report;
mod shapes;
mod states;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;

use gem_coherency::backend::node::Node;
use gem_coherency::backend::{Drm, Param};
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency_sim::SimDevice;
use gemtool::kernel_trace::Tracer;

use call::Call;
use mended::Mended;
use processes::real::Real;
use processes::target::Simulated;
use processes::wrong;
use replay::{Compared, Difference};
use report::Report;
use witness::{Traced, TwoLogs};

/// The arguments of the program.
#[derive(Debug)]
struct Args {
    device: Option<PathBuf>,
    sim: String,
    calls: u64,
    seed: u64,
    random: bool,
    enumerated: bool,
    suspend: bool,
    /// Every call before it is made, for what hangs.
    show: bool,
    wrong: bool,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(why) => {
            eprintln!("conformance: {why}");
            return ExitCode::from(2);
        }
    };
    match &args.device {
        None => twins(),
        Some(device) => against_the_driver(&args, device.clone()),
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args {
        device: None,
        sim: String::new(),
        calls: 3000,
        seed: 1,
        random: true,
        enumerated: true,
        suspend: false,
        show: false,
        wrong: false,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("'{text}' is not a number"));
        match word.as_str() {
            "--device" => args.device = Some(PathBuf::from(value()?)),
            "--sim" => args.sim = value()?,
            "--calls" => args.calls = number(value()?)?,
            "--seed" => args.seed = number(value()?)?,
            "--only" => match value()?.as_str() {
                "random" => args.enumerated = false,
                "enumerated" => args.random = false,
                "suspend" => (args.random, args.enumerated, args.suspend) = (false, false, true),
                other => return Err(format!("--only '{other}' (random, enumerated or suspend)")),
            },
            "--suspend" => args.suspend = true,
            "--show" => args.show = true,
            "--shapes" => shapes::choose(&value()?),
            "--wrong" => match value()?.as_str() {
                "errno" => args.wrong = true,
                other => return Err(format!("--wrong '{other}' (errno)")),
            },
            // An argument that cargo test passes on.
            _ if args.device.is_none() => {}
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    Ok(args)
}

/// The driver and the software device, in lockstep.
fn against_the_driver(args: &Args, device: PathBuf) -> ExitCode {
    let node = Node::open(&device)
        .and_then(|node| Ok((node.param(Param::ChipsetId)?, node.display()?.resources().is_ok())));
    let name = match node {
        Ok((id, display)) => {
            if display {
                shapes::with_display();
            }
            let mut name = format!("{},memory=coherent,id={id:04x}", args.sim);
            if !name.contains(",display=") {
                name += if display { ",display=on" } else { ",display=off" };
            }
            name
        }
        Err(error) => {
            eprintln!("conformance: {error}");
            return ExitCode::from(2);
        }
    };
    let soft = match SimDevice::open(&name) {
        Ok(soft) => soft,
        Err(error) => {
            eprintln!("conformance: {error}");
            return ExitCode::from(2);
        }
    };
    let machine = soft.machine();
    let rules = KernelRules::of(machine.kernel).expect("the device has the kernel's rules");
    let mut tracer = match Tracer::start() {
        Ok(tracer) => Some(tracer),
        Err(error) => {
            eprintln!("conformance: flushes cannot be compared: {error}");
            return ExitCode::from(2);
        }
    };
    // A display that could have been fused off, and was not.
    let display = if shapes::has_display() && machine.platform.has_display_fuse() { "+display" } else { "" };
    let title = format!("{}{display} | {}", machine.platform.name, machine.kernel);
    let mut report = Report::new(title, true);
    let tracer = std::cell::RefCell::new(&mut tracer);
    let test = |sequences: &[Vec<Call>]| {
        let mut tracer = tracer.borrow_mut();
        let mut real = Real::new(&device).unwrap_or_else(|why| panic!("{why}"));
        let mut soft = simulated(&name, args.wrong);
        let mut witness = Traced::new(tracer.as_mut(), &soft, args.show);
        replay::compare(&mut real, &mut soft, &mut witness, sequences)
    };
    again(mended::ALL, machine, &mut report, &test);
    if args.enumerated {
        enumerated(&states::enumerated(machine, &rules).collect::<Vec<_>>(), args, &mut report, &test);
    }
    if args.suspend {
        processes::real::stay_in_memory().unwrap_or_else(|errno| panic!("mlockall: {errno}"));
        again(mended::ASLEEP, machine, &mut report, &test);
        each(&states::suspended(machine, &rules).collect::<Vec<_>>(), &mut report, &test);
    }
    if args.random {
        randomly(args, &mut report, &test);
    }
    report.print();
    println!("summary {}", report.row());
    if report.unexplained() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Sequences that one process makes before it begins anew.
const BATCH: usize = 40;
/// Differences after which no more are looked for.
const ENOUGH: usize = 12;

type Test<'a> = dyn Fn(&[Vec<Call>]) -> Result<Compared, Difference> + 'a;

/// Evenly spread sequences of the enumeration, as many as the calls allow.
fn enumerated(all: &[Vec<Call>], args: &Args, report: &mut Report, test: &Test<'_>) {
    let calls: u64 = all.iter().map(|sequence| sequence.len() as u64).sum();
    let requested = args.calls / if args.random { 2 } else { 1 };
    // All of them, if there is time; otherwise every n-th, from a start that the seed chooses.
    let step = (calls / requested.max(1)).max(1) as usize;
    let start = args.seed as usize % step;
    each(&all.iter().skip(start).step_by(step).cloned().collect::<Vec<_>>(), report, test);
}

/// Makes the calls again that showed what was mended.
fn again(mended: &[Mended], machine: Machine, report: &mut Report, test: &Test<'_>) {
    for one in mended.iter().filter(|one| (one.on)(machine)) {
        let before = report.unexplained();
        each(&[(one.calls)(machine)], report, test);
        if report.unexplained() == before {
            report.is_mended();
        } else {
            println!("it is there again: {}", one.name);
        }
    }
}

/// Makes every sequence.
fn each(sequences: &[Vec<Call>], report: &mut Report, test: &Test<'_>) {
    for batch in sequences.chunks(BATCH) {
        let mut left = batch;
        while !left.is_empty() && report.unexplained() < ENOUGH {
            match test(left) {
                Ok(compared) => {
                    report.count(compared);
                    break;
                }
                Err(difference) => {
                    // The same calls in a process of their own are the better example, if they do.
                    let at = difference.sequence;
                    report.count(difference.compared);
                    let alone = test(std::slice::from_ref(&left[at])).err();
                    report.found(alone.unwrap_or(difference));
                    left = &left[at + 1..];
                }
            }
        }
    }
}

fn randomly(args: &Args, report: &mut Report, test: &Test<'_>) {
    let mut seed = args.seed;
    let end = report.compared().calls + args.calls / if args.enumerated { 2 } else { 1 };
    while report.compared().calls < end && report.unexplained() < ENOUGH {
        let (compared, difference) =
            random::run(seed, end - report.compared().calls, |calls| match test(calls) {
                Err(difference) if !report.is_new(&difference) => {
                    report.met(&difference);
                    Ok(difference.compared)
                }
                other => other,
            });
        report.count(compared);
        seed = seed.wrapping_add(0x9e37_79b9);
        if let Some(difference) = difference {
            report.found(difference);
        }
    }
}

/// A process for a software device, which may answer one call with a wrong errno.
fn simulated(name: &str, wrong: bool) -> Simulated {
    let simulated = match wrong {
        true => Simulated::that_answers(name, wrong::answer),
        false => Simulated::new(name),
    };
    simulated.unwrap_or_else(|error| panic!("{error}"))
}

/// Software devices against each other.
fn twins() -> ExitCode {
    let mut failed = 0;
    for (one, other, wrong, expected) in wrong::TWINS {
        let test = |sequences: &[Vec<Call>]| {
            let (mut one, mut other) = (simulated(one, false), simulated(other, *wrong));
            let mut witness = TwoLogs::new(&one, &other);
            replay::compare(&mut one, &mut other, &mut witness, sequences)
        };
        let machine = SimDevice::open(one).expect("a software device").machine();
        let rules = KernelRules::of(machine.kernel).expect("the device has the kernel's rules");
        let mut report = Report::new(
            format!("{one} and {other}{}", if *wrong { ", wrong on purpose" } else { "" }),
            !expected,
        );
        let args = Args {
            device: None,
            sim: String::new(),
            calls: 800,
            seed: 1,
            random: true,
            enumerated: true,
            suspend: false,
            show: false,
            wrong: *wrong,
        };
        enumerated(&states::enumerated(machine, &rules).collect::<Vec<_>>(), &args, &mut report, &test);
        if report.unexplained() == 0 {
            randomly(&args, &mut report, &test);
        }
        let caught = report.unexplained() > 0;
        println!("{}: {}", report.summary(), if caught { "differ" } else { "alike" });
        if caught != *expected {
            report.print();
            println!("FAILED: expected {}", if *expected { "a difference" } else { "none" });
            failed += 1;
        }
    }
    println!("{} pairs, {failed} failed", wrong::TWINS.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
