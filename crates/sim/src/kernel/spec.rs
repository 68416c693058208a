//! Parses the names of software devices, such as `sim:jsl,kernel=6.1,seed=7`.

use std::time::Duration;

use super::injected_faults::InjectedFault;
use super::limits::{LOCAL_BYTES, LOCAL_PAGE_BYTES};
use gem_coherency::platform::{self, Caps, Driver, Machine, Platform};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::{OpenError, Result, Unknown, xe};
use gem_coherency_memory_model::Assumption;

/// The prefix of a software device's name.
pub const PREFIX: &str = "sim:";

/// The syntax of names, for error messages.
const ALLOWED: &str = "sim:PLATFORM[,driver=i915|xe][,kernel=X.Y][,seed=N][,edram=0|1][,adversary=on|off][,fault=FAULT[@N]]\
                       [,memory=cached|coherent][,gpu=instant|timed][,hang=TIME][,selfsnoop=on|off][,display=on|off][,vram=SIZE][,without=RULE][,drop=ASSUMPTION][,id=HEX][,revision=HEX]; FAULT is enomem, eio, eintr, enodev, purge or stray, at the N-th request; TIME is a number and ms, s or m, or never; SIZE is a number and K, M or G";

/// The kernel version if the name does not give one, for a device of i915, and of xe.
const DEFAULT_KERNEL: KernelVersion = KernelVersion::new(6, 12);
const DEFAULT_KERNEL_OF_XE: KernelVersion = KernelVersion::new(7, 2);

/// The time after which a thread of a shader counts as endless if the name does not give one.
pub(crate) const THREAD_TIME: Duration = Duration::from_secs(10);

/// A device of xe, and the rule that its kernel lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct XeKernel {
    pub(crate) device: xe::Device,
    pub(crate) without: Option<xe::Rule>,
}

/// A parsed name.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) machine: Machine,
    pub(crate) rules: KernelRules,
    /// The device of xe; `None` for one of i915.
    pub(crate) xe: Option<XeKernel>,
    pub(crate) seed: u64,
    pub(crate) adversary: bool,
    /// Every agent sees every byte at once, as under emulation.
    pub(crate) coherent: bool,
    /// Batches take time, and engines run beside each other.
    pub(crate) timed: bool,
    /// The time after which a thread of a shader counts as endless; zero for never.
    pub(crate) hang: Duration,
    /// The CPU looks its own caches up at accesses of programs through WC mappings.
    pub(crate) self_snoops: bool,
    /// The device has a display.
    pub(crate) display: bool,
    /// Bytes of local memory of a discrete device of xe.
    pub(crate) local_bytes: Option<u64>,
    /// Its hardware is as the kernel assumes; otherwise as the library does.
    pub(crate) is_as_assumed: bool,
    /// The assumption about hardware that does not hold.
    pub(crate) dropped: Option<Assumption>,
    /// The PCI id.
    pub(crate) id: u16,
    /// The PCI revision.
    pub(crate) revision: u8,
    /// Faults, each with the number of requests that it lets pass first.
    pub(crate) faults: Vec<(InjectedFault, u64)>,
}

/// The options that were given.
#[derive(Default)]
struct Settings {
    driver: Option<Driver>,
    kernel: Option<KernelVersion>,
    seed: Option<u64>,
    edram: Option<bool>,
    adversary: Option<bool>,
    coherent: Option<bool>,
    timed: Option<bool>,
    hang: Option<Duration>,
    self_snoops: Option<bool>,
    display: Option<bool>,
    local_bytes: Option<u64>,
    /// A rule of either driver.
    without: Option<String>,
    dropped: Option<Assumption>,
    id: Option<u16>,
    revision: Option<u8>,
    faults: Vec<(InjectedFault, u64)>,
}

impl Spec {
    /// Parses a name.
    ///
    /// # Errors
    /// [`OpenError::BadDeviceSpec`], with the reason and, if the platform is known, the allowed settings.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Self::parse_for(Users::Library, text)
    }

    /// Parses the name of a device for programs, which may rely on what the kernel assumes, and of which a machine has a display.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub(crate) fn parse_for_programs(text: &str) -> Result<Self> {
        Self::parse_for(Users::Programs, text)
    }

    fn parse_for(users: Users, text: &str) -> Result<Self> {
        let bad = |why| OpenError::BadDeviceSpec { spec: text.to_owned(), why };
        let spec = read(users, text).map_err(|why| {
            // A wrong name of a platform needs no list of settings.
            let name = text.strip_prefix(PREFIX).and_then(|body| body.split(',').next());
            let is_known = name.is_none_or(|name| {
                name.is_empty() || platform::by_name(name).is_ok() || xe::by_name(name).is_ok()
            });
            bad(if is_known { format!("{why} (allowed: {ALLOWED})") } else { why })
        })?;
        match (users, &spec.xe) {
            // Other settings would not help.
            (Users::Library, Some(kernel)) => {
                let platform = kernel.device.platform;
                Err(bad(format!(
                    "a software device of xe is for programs: gemtool sim {platform} -- COMMAND"
                ))
                .into())
            }
            (Users::Library | Users::Programs, _) => Ok(spec),
        }
    }
}

/// The users of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    Library,
    Programs,
}

/// Parses a name, or returns the reason why it is invalid.
fn read(users: Users, text: &str) -> Result<Spec, String> {
    let body = text.strip_prefix(PREFIX).ok_or_else(|| format!("it does not begin with '{PREFIX}'"))?;
    let mut parts = body.split(',');
    let name = parts.next().unwrap_or_default();
    if name.is_empty() {
        return Err("it names no platform".to_owned());
    }
    let platform = platform::by_name(name).map_err(|error| error.to_string());
    // A platform of xe alone needs no driver=xe; a name that is of none is the one that i915's table does not know.
    let of_xe = xe::by_name(name);
    if let (Err(error), Err(_)) = (&platform, &of_xe) {
        return Err(error.clone());
    }
    let mut settings = Settings::default();
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| format!("'{part}' is not KEY=VALUE"))?;
        settings.read(key, value)?;
    }
    let default = if platform.is_ok() { Driver::I915 } else { Driver::Xe };
    match settings.driver.unwrap_or(default) {
        Driver::I915 => settings.into_spec(users, platform?),
        Driver::Xe => settings.into_spec_of_xe(of_xe.map_err(|error| error.to_string())?),
    }
}

impl Settings {
    fn read(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "kernel" => {
                once(key, &mut self.kernel, value.parse().map_err(|error: Unknown| error.to_string())?)
            }
            "seed" => {
                let seed =
                    value.parse().map_err(|_| format!("seed '{value}' is not a number from 0 to 2^64-1"))?;
                once(key, &mut self.seed, seed)
            }
            "edram" => once(key, &mut self.edram, switch(key, value, ["0", "1"])?),
            "adversary" => once(key, &mut self.adversary, switch(key, value, ["off", "on"])?),
            "memory" => once(key, &mut self.coherent, switch(key, value, ["cached", "coherent"])?),
            "gpu" => once(key, &mut self.timed, switch(key, value, ["instant", "timed"])?),
            "hang" => once(key, &mut self.hang, time(value)?),
            "selfsnoop" => once(key, &mut self.self_snoops, switch(key, value, ["off", "on"])?),
            "display" => once(key, &mut self.display, switch(key, value, ["off", "on"])?),
            "vram" => once(key, &mut self.local_bytes, size(value)?),
            "driver" => {
                once(key, &mut self.driver, value.parse().map_err(|error: Unknown| error.to_string())?)
            }
            "without" => once(key, &mut self.without, value.to_owned()),
            "drop" => once(key, &mut self.dropped, assumption(value)?),
            "id" => {
                let id = u16::from_str_radix(value, 16)
                    .map_err(|_| format!("id '{value}' is not a PCI id (four hexadecimal digits)"))?;
                once(key, &mut self.id, id)
            }
            "revision" => {
                let revision = u8::from_str_radix(value, 16).map_err(|_| {
                    format!("revision '{value}' is not a PCI revision (two hexadecimal digits)")
                })?;
                once(key, &mut self.revision, revision)
            }
            "fault" => {
                self.faults.push(fault(value)?);
                Ok(())
            }
            _ => Err(format!("unknown key '{key}'")),
        }
    }

    fn into_spec(self, users: Users, platform: &'static Platform) -> Result<Spec, String> {
        let kernel = self.kernel.unwrap_or(DEFAULT_KERNEL);
        let rules = KernelRules::of(kernel).map_err(|error| error.to_string())?;
        let without = self.without.as_deref().map(str::parse::<Rule>).transpose();
        let without = without.map_err(|error| error.to_string())?;
        let id = self.id.unwrap_or(platform.example_id);
        if platform::by_id(id).ok() != Some(platform) {
            return Err(format!("id={id:04x} is not a PCI ID of {platform}"));
        }
        if self.edram == Some(true) && !platform.edram_probed {
            return Err(format!("edram=1: i915 does not look for eDRAM on {platform}"));
        }
        if self.self_snoops == Some(false) && relies_on_self_snoop(platform) {
            return Err(format!("selfsnoop=off: i915 relies on it on {platform}"));
        }
        if self.local_bytes.is_some() {
            return Err(format!(
                "vram=: only xe's devices with local memory have it, not {platform} under i915"
            ));
        }
        // Only Haswells with Iris Pro graphics commonly use the level WT.
        let edram = self.edram.unwrap_or(platform.name == "hsw");
        Ok(Spec {
            machine: platform.claimed_by(kernel).map_err(|error| error.to_string())?.machine(kernel, edram),
            rules: KernelRules { without, ..rules },
            xe: None,
            id,
            revision: self.revision.unwrap_or_else(|| Platform::production_revision(id)),
            dropped: self.dropped,
            coherent: self.coherent.unwrap_or(false),
            timed: self.timed.unwrap_or(false),
            hang: self.hang.unwrap_or(THREAD_TIME),
            self_snoops: self.self_snoops.unwrap_or_else(|| cpu_self_snoops(platform)),
            // For the library off where a fuse can disable it; requests that need a display are refused in either case.
            display: self.display.unwrap_or(users == Users::Programs || !platform.has_display_fuse()),
            local_bytes: None,
            is_as_assumed: users == Users::Programs,
            seed: self.seed.unwrap_or(0),
            adversary: self.adversary.unwrap_or(false),
            faults: self.faults,
        })
    }

    /// As [`Self::into_spec`], for a device of xe.
    fn into_spec_of_xe(self, platform: &'static xe::Platform) -> Result<Spec, String> {
        let kernel = self.kernel.unwrap_or(DEFAULT_KERNEL_OF_XE);
        let device = platform.device(kernel).map_err(|error| error.to_string())?;
        let machine = device.machine();
        let first = platform.ids(kernel).next().unwrap_or_default();
        let id = self.id.unwrap_or(match (platform.name(), machine.platform.example_id) {
            // The first of the list is not the usual one.
            ("lnl", _) => 0x64a0,
            ("bmg", _) => 0xe20b,
            (_, 0) => first,
            (_, example) => example,
        });
        if platform.ids(kernel).all(|listed| listed != id) {
            return Err(format!("id={id:04x} is not a PCI ID of {platform} under xe of {kernel}"));
        }
        if self.edram == Some(true) {
            return Err(format!("edram=1: {platform} has none"));
        }
        if self.self_snoops == Some(false) {
            return Err(format!("selfsnoop=off: the CPU of {platform} has it"));
        }
        if self.local_bytes.is_some() && !platform.discrete {
            return Err(format!("vram=: {platform} has no local memory"));
        }
        let without = self.without.as_deref().map(str::parse::<xe::Rule>).transpose();
        Ok(Spec {
            machine,
            rules: KernelRules::of(kernel).map_err(|error| error.to_string())?,
            xe: Some(XeKernel { device, without: without.map_err(|error| error.to_string())? }),
            id,
            revision: self.revision.unwrap_or_else(|| production_revision(platform, id)),
            dropped: self.dropped,
            coherent: self.coherent.unwrap_or(false),
            timed: self.timed.unwrap_or(true),
            hang: self.hang.unwrap_or(THREAD_TIME),
            self_snoops: true,
            display: self.display.unwrap_or(platform.has_display),
            local_bytes: platform.discrete.then(|| self.local_bytes.unwrap_or(LOCAL_BYTES)),
            is_as_assumed: true,
            seed: self.seed.unwrap_or(0),
            adversary: self.adversary.unwrap_or(false),
            faults: self.faults,
        })
    }
}

/// Returns the PCI revision of the last production stepping of a device of xe.
fn production_revision(platform: &xe::Platform, id: u16) -> u8 {
    match platform.i915() {
        Some(_) => Platform::production_revision(id),
        // B0 of Lunar Lake is 4; the others began with 0.
        None if platform.name() == "lnl" => 4,
        None => 0,
    }
}

/// Returns whether i915 relies on self-snoop: with an LLC (A4), and on Meteor Lake (A11).
fn relies_on_self_snoop(platform: &Platform) -> bool {
    platform.caps.intersects(Caps::LLC | Caps::PAT_AT_CREATE)
}

/// Returns whether the CPU beside a platform's GPU has self-snoop that Linux uses (`X86_FEATURE_SELFSNOOP`).
///
/// Linux clears the bit up to Sandy Bridge, for errata (`check_memory_type_self_snoop_errata` in `arch/x86/kernel/cpu/intel.c`, commit
/// 1e03bff36001): on the CPUs of graphics 5 and older, which have no LLC. Later ones have it; of Atoms, /proc/cpuinfo of
/// a Celeron J1900 (vlv) and of an Atom x5-Z8350 (chv) lists `ss`.
fn cpu_self_snoops(platform: &Platform) -> bool {
    relies_on_self_snoop(platform) || platform.graphics.major >= 7
}

/// Sets an option, which must not have been given before.
fn once<T>(key: &str, slot: &mut Option<T>, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("'{key}' is given twice")),
    }
}

/// Parses a switch: one of two words, off or on.
fn switch(key: &str, value: &str, words: [&str; 2]) -> Result<bool, String> {
    match words.iter().position(|&word| word == value) {
        Some(index) => Ok(index == 1),
        None => Err(format!("{key} '{value}' is neither {} nor {}", words[0], words[1])),
    }
}

/// Parses a time: a whole number and ms, s or m; `never` is zero.
fn time(value: &str) -> Result<Duration, String> {
    if value == "never" {
        return Ok(Duration::ZERO);
    }
    let end = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let (digits, unit) = value.split_at(end);
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => 0,
    };
    let time = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(millis));
    let time = time.filter(|&millis| millis > 0).map(Duration::from_millis);
    time.ok_or_else(|| format!("hang '{value}' is no time (100ms, 10s, 2m, never)"))
}

/// Parses the size of local memory: a whole number and K, M or G, of whole pages, and no more than the devices have.
fn size(value: &str) -> Result<u64, String> {
    let end = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let (digits, unit) = value.split_at(end);
    let unit = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 0,
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let is_good = |bytes: &u64| (1..=LOCAL_BYTES).contains(bytes) && bytes.is_multiple_of(LOCAL_PAGE_BYTES);
    let bytes = bytes.filter(is_good);
    bytes.ok_or_else(|| format!("vram '{value}' is no size from 64K to 8G in steps of 64K (256M)"))
}

/// Parses an assumption, by its ID or its name.
fn assumption(value: &str) -> Result<Assumption, String> {
    let found = Assumption::ALL
        .iter()
        .copied()
        .find(|one| value == one.name() || value.eq_ignore_ascii_case(one.id()));
    found.ok_or_else(|| format!("'{value}' is not an assumption (A3, bypass-is-for-reads)"))
}

/// Parses a fault: `enomem`, or `enomem@3` for the third request that it can hit.
fn fault(value: &str) -> Result<(InjectedFault, u64), String> {
    let (word, number) = value.split_once('@').unwrap_or((value, "1"));
    let fault = word.parse().map_err(|error: Unknown| error.to_string())?;
    let at: u64 = number.parse().map_err(|_| format!("'{number}' is not the number of a request"))?;
    match at.checked_sub(1) {
        Some(after) => Ok((fault, after)),
        None => Err("requests are counted from 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_platform_kernel_seed_and_faults() {
        let spec = Spec::parse("sim:jsl,kernel=6.1,seed=7,adversary=on,fault=enomem@3,fault=eio").unwrap();
        assert_eq!(spec.machine.platform.name, "jsl");
        assert_eq!(spec.machine.kernel, KernelVersion::new(6, 1));
        assert_eq!((spec.seed, spec.adversary), (7, true));
        assert!(!spec.coherent && !spec.timed && spec.rules.without.is_none());
        assert!(Spec::parse("sim:jsl,gpu=timed").unwrap().timed);
        for (text, millis) in [
            ("", 10_000),
            (",hang=100ms", 100),
            (",hang=3s", 3000),
            (",hang=2m", 120_000),
            (",hang=never", 0),
        ] {
            assert_eq!(Spec::parse(&format!("sim:jsl{text}")).unwrap().hang.as_millis(), millis, "{text}");
        }
        assert_eq!(spec.faults, [(InjectedFault::NoMemory, 2), (InjectedFault::Wedged, 0)]);
    }

    #[test]
    fn what_is_not_said_is_6_12_without_adversary_and_edram_on_haswell_only() {
        let spec = Spec::parse("sim:tgl").unwrap();
        assert_eq!(spec.machine.kernel, DEFAULT_KERNEL);
        assert!(!spec.adversary && !spec.machine.caps.contains(Caps::WT));
        let wt = |text: &str| Spec::parse(text).unwrap().machine.caps.contains(Caps::WT);
        assert!(wt("sim:hsw") && wt("sim:skl,edram=1"));
        assert!(!wt("sim:hsw,edram=0") && !wt("sim:skl"));
    }

    #[test]
    fn the_cpu_has_self_snoop_unless_linux_clears_the_bit_or_the_name_says_so() {
        let has = |text: &str| Spec::parse(text).unwrap().self_snoops;
        for name in ["snb", "ivb", "vlv", "chv", "glk", "jsl", "mtl", "dg2"] {
            assert!(has(&format!("sim:{name}")), "{name}");
        }
        for name in ["i830", "pnv", "g45", "ilk"] {
            assert!(!has(&format!("sim:{name}")), "{name}");
        }
        assert!(!has("sim:glk,selfsnoop=off") && has("sim:ilk,selfsnoop=on"));
    }

    #[test]
    fn a_device_of_programs_has_a_display_unless_the_name_says_so() {
        let has = |name: &str| {
            let text = format!("sim:{name}");
            [Spec::parse(&text), Spec::parse_for_programs(&text)].map(|spec| spec.unwrap().display)
        };
        assert_eq!(has("tgl"), [false, true]);
        assert_eq!(has("chv"), [true, true]);
        assert_eq!(has("tgl,display=on"), [true, true]);
        assert_eq!(has("chv,display=off"), [false, false]);
    }

    #[test]
    fn a_name_takes_a_rule_away_and_chooses_a_device_id() {
        let spec = Spec::parse("sim:jsl,without=bypass-acquire,memory=coherent,id=4e55").unwrap();
        assert!(spec.rules.lacks(Rule::BypassAcquire) && spec.coherent);
        assert_eq!((spec.id, spec.revision), (0x4e55, 0x01));
        let revision = |text: &str| Spec::parse(text).unwrap().revision;
        assert_eq!(["sim:dg2", "sim:dg2,id=56a5", "sim:dg2,revision=0"].map(revision), [0x08, 0x05, 0x00]);
    }

    #[test]
    fn xe_drives_what_i915_does_not_and_what_the_name_says() {
        let spec = |text: &str| Spec::parse_for_programs(text).unwrap();
        let of_xe = |text: &str| spec(text).xe.unwrap();
        let lnl = of_xe("sim:lnl");
        assert_eq!((lnl.device.platform.name(), lnl.device.kernel), ("lnl", DEFAULT_KERNEL_OF_XE));
        assert_eq!((spec("sim:lnl").id, spec("sim:lnl").revision), (0x64a0, 4));
        assert!(spec("sim:tgl").xe.is_none() && of_xe("sim:tgl,driver=xe,kernel=6.12").without.is_none());
        assert_eq!(of_xe("sim:ptl,without=cached-not-snooped").without, Some(xe::Rule::CachedNotSnooped));
        let refused = |text: &str, part: &str| {
            let message = Spec::parse_for_programs(text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        };
        assert_eq!(
            ["bmg", "bmg,vram=256M", "lnl", "tgl"].map(|name| spec(&format!("sim:{name}")).local_bytes),
            [Some(LOCAL_BYTES), Some(256 << 20), None, None]
        );
        refused("sim:lnl,vram=1G", "no local memory");
        refused("sim:dg2,vram=1G", "not dg2 under i915");
        for size in ["", "1", "K", "0M", "65K", "9G", "-1M", "1T", "18446744073709551615G"] {
            refused(&format!("sim:bmg,vram={size}"), &format!("vram '{size}'"));
        }
        refused("sim:lnl,kernel=6.11", "6.11");
        refused("sim:lnl,without=bypass-acquire", "bypass-acquire");
        refused("sim:lnl,id=9a49", "9a49");
    }

    #[track_caller]
    fn bad(text: &str, part: &str) {
        let error = Spec::parse(text).unwrap_err();
        assert!(matches!(error, gem_coherency::Error::Open(OpenError::BadDeviceSpec { .. })), "{error:?}");
        let message = error.to_string();
        // The settings are listed where another one would help.
        let is_listed = !matches!(text, "sim:vax" | "sim:lnl");
        assert!(message.contains(part) && message.contains("kernel=X.Y") == is_listed, "{message}");
    }

    #[test]
    fn a_bad_name_is_refused_with_what_is_wrong_and_what_is_allowed() {
        bad("jsl", "does not begin");
        bad("sim:", "no platform");
        bad("sim:vax", "vax");
        bad("sim:jsl,", "''");
        bad("sim:jsl,kernel", "'kernel'");
        bad("sim:jsl,kernel=six", "six");
        bad("sim:jsl,kernel=5.13", "5.13");
        bad("sim:dg2,kernel=5.10", "dg2");
        bad("sim:jsl,seed=-1", "-1");
        bad("sim:jsl,seed=1,seed=2", "twice");
        bad("sim:jsl,edram=yes", "yes");
        bad("sim:glk,colour=red", "colour");
        bad("sim:i965gm,edram=1", "eDRAM");
        bad("sim:jsl,adversary=1", "neither off nor on");
        bad("sim:jsl,memory=magic", "neither cached nor coherent");
        bad("sim:jsl,gpu=slow", "neither instant nor timed");
        bad("sim:glk,selfsnoop=1", "neither off nor on");
        bad("sim:tgl,selfsnoop=off", "relies on it on");
        bad("sim:mtl,selfsnoop=off", "relies on it on");
        bad("sim:jsl,display=dim", "neither off nor on");
        bad("sim:jsl,without=luck", "luck");
        bad("sim:jsl,driver=nouveau", "nouveau");
        bad("sim:jsl,driver=xe", "i915");
        bad("sim:lnl", "gemtool sim lnl");
        bad("sim:lnl,driver=i915", "lnl");
        bad("sim:jsl,id=9a49", "9a49");
        bad("sim:jsl,id=zz", "zz");
        for time in ["", "10", "s", "0s", "-1s", "1h", "18446744073709551615m", "1 s"] {
            bad(&format!("sim:jsl,hang={time}"), &format!("hang '{time}'"));
        }
        bad("sim:jsl,revision=100", "'100'");
        bad("sim:jsl,revision=z", "'z'");
        bad("sim:jsl,fault=eagain", "eagain");
        bad("sim:jsl,fault=eio@0", "from 1");
        bad("sim:jsl,fault=eio@x", "'x'");
    }
}
