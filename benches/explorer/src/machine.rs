//! The machine that the numbers were measured on.

use std::fs::read_to_string;

/// One line: processor, cores, load, how this was built, and the number of rounds.
///
/// A fact that the system does not report is left open.
pub fn line(rounds: usize) -> String {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let cores =
        std::thread::available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string());
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("?");
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{model}, {cores} cores, load {load} at the start; {}, {profile}; {rounds} rounds", rustc())
}

/// The compiler that cargo would use here.
fn rustc() -> String {
    let output = std::process::Command::new("rustc").arg("--version").output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    if version.is_empty() { "unknown rustc".to_owned() } else { version.trim().to_owned() }
}
