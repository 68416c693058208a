//! An open i915 file, on the real driver.
//!
//! They run on the first i915 node of /dev/dri, or on the one that `--device PATH` names. Without a node
//! every test is skipped; skips are printed and counted. `--destructive` adds the tests that take over the
//! display, wedge the GPU and unplug the device, for virtual machines. Other words select tests by name.

#[path = "../device/child.rs"]
mod child;
mod device;
mod display;
mod flushes;
mod foreign_objects;
mod forks;
mod gpu;
mod memory;
mod platforms;
mod screen;
#[path = "../shown/mod.rs"]
mod shown;
mod tracers;

use std::env;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gem_coherency::Errno;
use gem_coherency::Result;
use gem_coherency::backend::node::{Found, Node, find};
use gem_coherency::backend::{Drm, Param};

use platforms::{Expected, PLATFORMS};

/// The context of a test.
struct Bench {
    path: PathBuf,
    found: Found,
    /// The expected facts of this platform, if it is known.
    expected: Option<&'static Expected>,
}

/// The reason why a test was skipped.
type Skip = Option<String>;

/// A test: its claim, its function, and whether it harms the device.
struct Test {
    name: &'static str,
    run: fn(&Bench) -> Skip,
    harms: bool,
}

/// Creates the [`Test`] of a function.
macro_rules! test {
    ($name:ident) => {
        crate::Test { name: stringify!($name), run: $name, harms: false }
    };
    ($name:ident, harms) => {
        crate::Test { name: stringify!($name), run: $name, harms: true }
    };
}
use test;

/// Returns the row of the platform, or skips the test.
macro_rules! expected {
    ($bench:expr) => {
        match $bench.expected {
            Some(expected) => expected,
            None => return Some("the platform is not in this test's table".to_owned()),
        }
    };
}
use expected;

fn main() -> ExitCode {
    let mut device = None;
    let mut destructive = false;
    let mut words = Vec::new();
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--device" => device = args.next().map(PathBuf::from),
            "--destructive" => destructive = true,
            "--open" => return device::open_and_say(args.next()),
            _ if arg.starts_with('-') => {}
            _ => words.push(arg),
        }
    }
    // The harmful tests of `device` come last of all, because they leave no usable device.
    let mut tests: Vec<&Test> = [
        memory::reuse::TESTS,
        forks::TESTS,
        gpu::batches::TESTS,
        gpu::walkers::TESTS,
        gpu::pipelines::TESTS,
        gpu::hangs::TESTS,
        gpu::spinners::TESTS,
        display::TESTS,
        screen::TESTS,
        device::TESTS,
        memory::objects::TESTS,
        memory::access::TESTS,
        flushes::TESTS,
        tracers::TESTS,
    ]
    .into_iter()
    .flatten()
    .collect();
    tests.sort_by_key(|test| test.harms);
    let found = find();
    let path = match device.map_or_else(|| found.first().map(Path::to_owned), Ok) {
        Ok(path) => path,
        Err(error) => {
            println!("{error}\nno i915 node: {} tests skipped", tests.len());
            return ExitCode::SUCCESS;
        }
    };
    let node = Node::open(&path).unwrap();
    let id = node.param(Param::ChipsetId).unwrap();
    let expected = PLATFORMS.iter().find(|row| id & row.ids.0 == row.ids.1);
    println!(
        "{}: 8086:{id:04x} ({}), kernel {}",
        path.display(),
        expected.map_or("not in this test's table", |row| row.name),
        node.kernel()
    );
    drop(node);
    let bench = Bench { path, found, expected };
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for Test { name, run, harms } in tests {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let result = if *harms && !destructive {
            Ok(Some("only with --destructive".to_owned()))
        } else {
            catch_unwind(AssertUnwindSafe(|| run(&bench)))
        };
        let (count, word) = match result {
            Ok(None) => (&mut passed, "ok".to_owned()),
            Ok(Some(why)) => (&mut skipped, format!("skipped: {why}")),
            Err(_) => (&mut failed, "FAILED".to_owned()),
        };
        *count += 1;
        println!("test {name} ... {word}");
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Bench {
    /// Opens a new node for each test, so that everything open on it belongs to the test.
    fn open(&self) -> Node {
        Node::open(&self.path).unwrap()
    }
}

#[track_caller]
fn errno<T: Debug>(expected: Errno, result: Result<T>) {
    assert_eq!(result.map_err(|error| error.errno()).unwrap_err(), expected);
}

/// Checks that a request succeeded if `allowed`, and failed with `refusal` otherwise.
#[track_caller]
fn allowed_or<T: Debug>(allowed: bool, refusal: Errno, result: Result<T>) -> Option<T> {
    if allowed {
        return Some(result.unwrap());
    }
    errno(refusal, result);
    None
}
