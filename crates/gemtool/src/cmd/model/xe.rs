//! xe in `gemtool platforms` and `gemtool explain`: platforms, PAT tables, and what the kernel says to a mapping.

use gem_coherency::Unknown;
use gem_coherency::platform::{self, Basis};
use gem_coherency::policy::kernel::Creation;
use gem_coherency::vocabulary::{Agent, KernelVersion};
use gem_coherency::xe::{
    self, Bind, CachePolicy, CpuCaching, Create, CreateFlags, Decision, Device, LOCAL, Memory, Object,
    PatCoherency, PatEntry, Platform, Refusal, Rule, Use, Verdict, When,
};
use gemtool::numbers;
use serde::Serialize;

use crate::args::{self, Driver};
use crate::cmd::model::rules::RuleText;
use crate::failure::Failure;

/// Bytes of the object that is asked about: a page of every kind of memory.
const SIZE: u64 = 64 << 10;

/// One line of the table of platforms.
#[derive(Clone, Debug, Serialize)]
pub struct XeRow {
    /// The short name.
    pub name: &'static str,
    /// The common name.
    pub title: &'static str,
    /// Version of the graphics IP.
    pub graphics: String,
    /// Set for a device with memory of its own.
    pub discrete: bool,
    /// CPU and GPU share the last-level cache.
    pub llc: bool,
    /// The driver that takes it by default: `i915`, `xe`; null: neither without `force_probe`.
    pub default_driver: Option<&'static str>,
    /// Number of PCI IDs.
    pub pci_ids: usize,
    /// How the facts about the platform under the kernel are known.
    pub known: Basis,
}

/// Every platform of xe.
#[derive(Clone, Debug, Serialize)]
pub struct XeTable {
    /// The driver: `xe`.
    pub driver: &'static str,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the facts about the kernel are known.
    pub basis: Basis,
    /// The platforms, oldest first.
    pub platforms: Vec<XeRow>,
}

/// An entry of the PAT table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PatRow {
    /// Its index.
    pub pat_index: u16,
    /// The policy of the L3; before graphics 20 of all caches of the GPU.
    pub l3: Option<CachePolicy>,
    /// The policy of the L4.
    pub l4: Option<CachePolicy>,
    /// The coherency with the CPU's caches.
    pub coherency: PatCoherency,
    /// The pages hold compressed data.
    pub compressed: bool,
    /// The class of service.
    pub clos: u8,
    /// The kernel accepts a write-back object by the index.
    pub wb: bool,
    /// It accepts an import from another driver.
    pub import: bool,
    /// It accepts the process's own pages.
    pub userptr: bool,
}

/// The choice for a use.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChoiceRow {
    /// The use.
    #[serde(rename = "use")]
    pub purpose: Use,
    /// The CPU caching of the object; null for memory that is not created.
    pub caching: Option<CpuCaching>,
    /// The object is in local memory.
    pub local: bool,
    /// The object is created with SCANOUT.
    pub scanout: bool,
    /// The PAT index of its mappings.
    pub pat_index: u16,
}

/// One platform of xe.
#[derive(Clone, Debug, Serialize)]
pub struct XeDetail {
    /// The driver: `xe`.
    pub driver: &'static str,
    /// Its row of the table.
    #[serde(flatten)]
    pub row: XeRow,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the facts about the kernel are known.
    pub basis: Basis,
    /// Page size of local memory, in bytes.
    pub local_page_bytes: Option<u32>,
    /// The kernel's source of these facts.
    pub source: &'static str,
    /// The name of the PAT table in the driver.
    pub pat_table: &'static str,
    /// Its entries; indices that are missing are reserved.
    pub pat: Vec<PatRow>,
    /// What to choose for each use.
    pub choices: Vec<ChoiceRow>,
    /// Its PCI IDs.
    pub ids: Vec<String>,
}

/// Returns the platforms that xe of the kernel claims.
pub fn table(kernel: KernelVersion) -> Result<XeTable, Failure> {
    let platforms: Vec<_> =
        xe::all().iter().filter_map(|platform| Some(row(&platform.device(kernel).ok()?))).collect();
    // A kernel without xe refuses each.
    if let (true, Some(first)) = (platforms.is_empty(), xe::all().first()) {
        first.device(kernel).map_err(|error| Failure::flag("--kernel", error))?;
    }
    Ok(XeTable { driver: "xe", kernel, basis: Basis::of(kernel), platforms })
}

/// Returns the requested platform.
///
/// # Errors
/// A name or a PCI ID that xe does not claim, or not under this kernel.
pub fn one(which: &str, kernel: KernelVersion) -> Result<XeDetail, Failure> {
    let device = device("NAME|PCIID", which, kernel)?;
    let choices = Use::ALL.iter().filter_map(|&purpose| {
        let choice = device.choose(purpose, SIZE)?;
        let created = choice.create.and_then(|create| device.create(&create).ok());
        Some(ChoiceRow {
            purpose,
            caching: created.and_then(|object| object.caching),
            local: created.is_some_and(|object| object.placement & LOCAL != 0),
            scanout: created.is_some_and(|object| object.flags.contains(CreateFlags::SCANOUT)),
            pat_index: choice.pat_index,
        })
    });
    Ok(XeDetail {
        driver: "xe",
        row: row(&device),
        kernel,
        basis: device.basis(),
        local_page_bytes: device.platform.local_page_bytes,
        source: device.platform.source,
        pat_table: device.pat.name,
        pat: device.pat.indices().map(|(index, entry)| pat_row(&device, index, entry)).collect(),
        choices: choices.collect(),
        ids: device.platform.ids(kernel).map(|id| format!("8086:{id:04x}")).collect(),
    })
}

/// Returns whether a name is that of a platform that xe drives and i915 does not.
pub fn is_alone(which: &str) -> bool {
    xe::by_name(which).is_ok_and(|platform| platform.i915().is_none())
}

/// Returns the device of a platform under a kernel; `flag` named it.
pub(super) fn device(flag: &'static str, which: &str, kernel: KernelVersion) -> Result<Device, Failure> {
    xe::device(which, kernel).map_err(|error| {
        if let Unknown::KernelWithoutXe { .. } = error {
            return Failure::flag("--kernel", error);
        }
        let newest = Driver::Xe.kernel();
        let newer = kernel != newest && xe::device(which, newest).is_ok();
        let hint = if newer { format!(" (--kernel {newest} does)") } else { String::new() };
        match hint.as_str() {
            "" => Failure::refused(flag, error),
            hint => Failure::flag(flag, format!("{error}{hint}")),
        }
    })
}

fn row(device: &Device) -> XeRow {
    let platform: &'static Platform = device.platform;
    XeRow {
        name: platform.name(),
        title: platform.title(),
        graphics: format!("{}.{:02}", device.graphics.major, device.graphics.minor),
        discrete: platform.discrete,
        llc: platform.has_llc(),
        default_driver: platform.default_driver(device.kernel).map(|driver| match driver {
            platform::Driver::I915 => "i915",
            platform::Driver::Xe => "xe",
        }),
        pci_ids: platform.ids(device.kernel).count(),
        known: device.basis(),
    }
}

fn pat_row(device: &Device, pat_index: u16, entry: &PatEntry) -> PatRow {
    let PatEntry { coherency, l3, l4, compressed, clos, .. } = *entry;
    let accepts = |bind: Bind<'_>| device.bind(&[bind], false).is_ok();
    let object = |object: &Object| accepts(Bind::map(object, 0, pat_index));
    let wb = device.create(&Create::new(SIZE, CpuCaching::Wb)).is_ok_and(|wb| object(&wb));
    let import = object(&Object::imported(SIZE));
    let userptr = accepts(Bind::userptr(0, 0, SIZE, pat_index));
    PatRow { pat_index, l3, l4, coherency, compressed, clos, wb, import, userptr }
}

/// A decision about a mapping.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct XeDecision {
    /// The writer.
    pub writer: Agent,
    /// The agent of the next access.
    pub reader: Agent,
    /// When it happens.
    pub when: When,
    /// The verdict.
    pub verdict: Verdict,
    /// How the rule is known.
    pub basis: Basis,
    /// The rule that decides, its reason and its source.
    #[serde(flatten)]
    pub rule: RuleText,
}

/// What xe says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct XeRefusal {
    /// The request: GEM_CREATE, VM_BIND.
    pub request: &'static str,
    /// The errno.
    pub errno: Option<&'static str>,
    /// The check that fails, its reason and its source.
    #[serde(flatten)]
    pub rule: RuleText,
}

/// The answer about a mapping.
#[derive(Clone, Debug, Serialize)]
pub struct XeAnswer {
    /// The driver: `xe`.
    pub driver: &'static str,
    /// The platform's name.
    pub platform: &'static str,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the facts about the kernel are known.
    pub basis: Basis,
    /// The memory: `object`, `local`, `import`, `userptr`.
    pub memory: &'static str,
    /// How the CPU maps it; null where xe does not decide.
    pub caching: Option<CpuCaching>,
    /// The PAT index.
    pub pat_index: u16,
    /// Its entry; null if there is none.
    pub pat: Option<PatRow>,
    /// The refusal; null: the mapping is accepted.
    pub refused: Option<XeRefusal>,
    /// What is required between accesses; empty if the mapping is refused.
    pub decisions: Vec<XeDecision>,
}

/// Answers `gemtool explain --driver xe`.
///
/// # Errors
/// A flag of i915's, a missing one, an unknown platform, or a number that is none.
pub fn explain(args: &args::Explain) -> Result<XeAnswer, Failure> {
    of_i915(args)?;
    let (Some(platform), Some(pat)) = (&args.platform, &args.pat) else {
        return Err(match (&args.platform, &args.pat) {
            (None, None) => Failure::flag("--platform", "needed with --driver xe; missing, too: --pat"),
            (None, Some(_)) => Failure::flag("--platform", "needed with --driver xe"),
            (Some(_), _) => Failure::flag(
                "--pat",
                "needed with --driver xe (`gemtool platforms NAME --driver xe` has the table)",
            ),
        });
    };
    let kernel = args.kernel.unwrap_or(Driver::Xe.kernel());
    let device = device("--platform", platform, kernel)?;
    let pat_index = numbers::number(pat).ok().and_then(|number| u16::try_from(number).ok());
    let pat_index = pat_index
        .ok_or_else(|| Failure::flag("--pat", format!("'{pat}' is not a number from 0 to 65535")))?;
    let mut answer = XeAnswer {
        driver: "xe",
        platform: device.platform.name(),
        kernel,
        basis: device.basis(),
        memory: "object",
        caching: args.caching,
        pat_index,
        pat: device.pat.entry(pat_index).ok().map(|entry| pat_row(&device, pat_index, entry)),
        refused: None,
        decisions: Vec::new(),
    };
    let kind = args.object.as_ref().map_or(Creation::User, |object| object.0);
    let object = match kind {
        Creation::User | Creation::Local => {
            let local = kind == Creation::Local;
            let caching = args.caching.unwrap_or(if local { CpuCaching::Wc } else { CpuCaching::Wb });
            let new = Create::new(SIZE, caching);
            let create = Create { placement: if local { LOCAL } else { new.placement }, ..new };
            answer.memory = if local { "local" } else { "object" };
            answer.caching = Some(caching);
            match device.create(&create) {
                Ok(object) => Some(object),
                Err(refusal) => {
                    answer.refused = Some(refused("GEM_CREATE", refusal));
                    return Ok(answer);
                }
            }
        }
        Creation::Import | Creation::Userptr => {
            if args.caching.is_some() {
                return Err(Failure::flag(
                    "--caching",
                    "xe does not decide it for an import or a userptr: leave it out",
                ));
            }
            answer.memory = if kind == Creation::Import { "import" } else { "userptr" };
            (kind == Creation::Import).then_some(Object::imported(SIZE))
        }
        Creation::UserWithPat(_) | Creation::Internal | Creation::Stolen | Creation::Phys => {
            let word = args.object.map_or_else(String::new, |object| object.to_string());
            return Err(Failure::flag(
                "--object",
                format!("'{word}': xe has user, local, import and userptr"),
            ));
        }
    };
    let memory = object.as_ref().map_or(Memory::Process, Memory::Object);
    let bind = object
        .as_ref()
        .map_or(Bind::userptr(0, 0, SIZE, pat_index), |object| Bind::map(object, 0, pat_index));
    match device.bind(&[bind], false) {
        Err((_, refusal)) => answer.refused = Some(refused("VM_BIND", refusal)),
        Ok(()) => answer.decisions = decisions(&device, memory, pat_index, args),
    }
    Ok(answer)
}

/// Returns the decisions on the pair of accesses that was asked for, or on all.
fn decisions(device: &Device, memory: Memory<'_>, pat_index: u16, args: &args::Explain) -> Vec<XeDecision> {
    use Agent::{Cpu, Display, Gpu};
    let all = [
        (Cpu, Gpu, When::AfterFence),
        (Gpu, Cpu, When::AfterFence),
        (Gpu, Cpu, When::InBatch),
        (Cpu, Display, When::AfterFence),
        (Gpu, Display, When::AfterFence),
    ];
    let asked: Vec<_> = match (args.writer, args.reader) {
        (Some(writer), Some(reader)) => {
            vec![(writer, reader, if args.in_batch { When::InBatch } else { When::AfterFence })]
        }
        (writer, reader) => {
            let fits = |&&(from, to, when): &&(Agent, Agent, When)| {
                writer.is_none_or(|writer| writer == from)
                    && reader.is_none_or(|reader| reader == to)
                    && (!args.in_batch || when == When::InBatch)
            };
            all.iter().filter(fits).copied().collect()
        }
    };
    let decide = |(writer, reader, when)| {
        let Decision { verdict, rule } = device.needs_flush(memory, pat_index, writer, reader, when);
        let basis = if device.basis() == Basis::Run { rule.basis() } else { device.basis() };
        XeDecision { writer, reader, when, verdict, basis, rule: rule.into() }
    };
    asked.into_iter().map(decide).collect()
}

fn refused(request: &'static str, Refusal { errno, rule }: Refusal) -> XeRefusal {
    XeRefusal { request, errno: errno.name(), rule: Rule::into(rule) }
}

/// Refuses the flags that are about i915, instead of ignoring them.
fn of_i915(args: &args::Explain) -> Result<(), Failure> {
    let flags = [
        ("--table", args.table),
        ("--level", args.level.is_some()),
        ("--map", args.map.is_some()),
        ("--reader-map", args.reader_map.is_some()),
        ("--mocs", args.mocs.is_some()),
        ("--reader-mocs", args.reader_mocs.is_some()),
        ("--access", args.access.is_some()),
        ("--event", args.event.is_some()),
        ("--state", args.state.is_some()),
        ("--edram", args.edram),
        ("--who", args.who == args::Who::Kernel),
    ];
    match flags.iter().find(|(_, given)| *given) {
        Some(&(flag, _)) => Err(Failure::flag(flag, "is about i915: xe has --caching, --pat and --object")),
        None => Ok(()),
    }
}
