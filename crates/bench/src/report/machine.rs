//! The machine on which the measurements ran.

use std::fs::read_to_string;
use std::path::Path;

use gem_coherency::cacheops::Support;
use serde::Serialize;

/// The maker of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// Intel.
    Intel,
    /// AMD, or a maker that is not known.
    Other,
}

/// A machine, as it describes itself.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// The processor's maker.
    pub maker: Maker,
    /// The processor reports a hypervisor.
    pub is_virtual: bool,
    /// Number of usable processors.
    pub processors: usize,
    /// The first processor's caches: `L2 2048K`.
    pub caches: Vec<String>,
    /// The kernel version.
    pub kernel: String,
    /// Load average of the last minute at the start.
    pub load: String,
    /// The build profile of this crate.
    pub build: &'static str,
    /// The cache instructions of the CPU, and those that the library uses.
    pub support: Support,
    /// libpmem was found.
    pub has_libpmem: bool,
}

/// Describes this machine.
pub fn describe_machine(support: &Support, has_libpmem: bool) -> Machine {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let value = cpuinfo.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
        value.map_or("", |(_, value)| value.trim())
    };
    let first_word = |path| {
        let text = read_to_string(path).unwrap_or_default();
        text.split_whitespace().next().unwrap_or("unknown").to_owned()
    };
    Machine {
        cpu: match field("model name") {
            "" => "unknown processor".to_owned(),
            name => name.to_owned(),
        },
        maker: match field("vendor_id") {
            "GenuineIntel" => Maker::Intel,
            _ => Maker::Other,
        },
        is_virtual: field("flags").split_whitespace().any(|flag| flag == "hypervisor"),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
        kernel: first_word("/proc/sys/kernel/osrelease"),
        load: first_word("/proc/loadavg"),
        build: if cfg!(debug_assertions) { "debug" } else { "release" },
        support: *support,
        has_libpmem,
    }
}

/// Returns the data caches listed in a sysfs directory.
fn caches(directory: &Path) -> Vec<String> {
    let cache = |index: u32| {
        let says = |what| read_to_string(directory.join(format!("index{index}")).join(what)).ok();
        Some((says("level")?, says("type")?, says("size")?))
    };
    let kind = |name: &str| match name.trim() {
        "Data" => Some("d"),
        "Unified" => Some(""),
        // Flushes do not concern instruction caches.
        _ => None,
    };
    (0..8)
        .map_while(cache)
        .filter_map(|(level, name, size)| Some(format!("L{}{} {}", level.trim(), kind(&name)?, size.trim())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_has_no_caches() {
        assert_eq!(caches(Path::new("/nonexistent")), Vec::<String>::new());
    }
}
