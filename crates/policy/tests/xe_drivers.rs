//! The choices of drivers under xe, as `docs/porting.md` lists them, judged by the rules.
//!
//! The choices were read in these versions:
//!
//! - iris and anv: sailfishos-mirror/mesa of about autumn 2026: `intel_device_info.c` 0cc89ca0 (PAT entries), `iris_bufmgr.c` 48b98d28
//!   (`flags_to_heap`, `iris_heap_to_pat_entry`, `iris_bo_create_userptr`), `anv_device.c` 00c20a19 (`anv_device_get_pat_entry`),
//!   `anv_allocator.c` 18456c4e, `xe/iris_kmd_backend.c` and `xe/anv_kmd_backend.c` 1bd83ba8 (`xe_gem_create`)
//! - minigbm: `xe.c` of WayDroid-ATV/minigbm2 6024d3dd, 2025-12-09 (`xe_bo_create_from_metadata`, `xe_bo_flush`)
//! - media-driver: intel/media-driver 950ba8f8, 2026-08-21: `mos_bufmgr_xe.c` (`mos_bo_alloc_xe`, `mos_bo_alloc_userptr_xe`,
//!   `mos_bo_create_from_prime_xe`), `mos_interface.cpp` (`GetPATIndexFromGmm`), `media_libva_util_next.cpp` (`CreateExternalSurface`,
//!   `CreateInternalSurface`; from Meteor Lake on: `media_libva_apo_decision.cpp`), `media_libva_util.cpp` (before); with intel/gmmlib 75792274,
//!   2026-08-04: `CachePolicyGetPATIndex` of `GmmXe_LPGCachePolicy.cpp` and `GmmXe2_LPGCachePolicy.cpp`, without FtrAppTransientCaching and
//!   FtrPATCentricCachePolicy, which media-driver and neo do not set
//! - neo: intel/compute-runtime e37c60bf, 2026-08-22: `ioctl_helper_xe.cpp` (`getCpuCachingMode`, `xeVmBind`), `drm_neo.cpp` (`Drm::getPatIndex`),
//!   `drm_memory_manager.cpp` (`allocateGraphicsMemoryForNonSvmHostPtr`, `createGraphicsAllocationFromSharedHandle`), `cache_settings_helper.cpp`,
//!   `gmm.cpp`, `release_helper_nvl_p.cpp` (`overrideSystemMemoryPatIndexBase`), `getSharedSystemPatIndex` and `isCoherentAllocation` of each
//!   product

use std::collections::BTreeSet;

use gem_coherency_policy::vocabulary::{Agent, KernelVersion};
use gem_coherency_policy::xe::{
    self, Bind, BindFlags, BindOp, Bound, CachePolicy, CpuCaching, Create, CreateFlags, Decision, Device,
    LOCAL, Memory, Object, Rule, SYSTEM, Use, Verdict, When,
};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/porting.md"));

const V6_12: KernelVersion = KernelVersion::new(6, 12);
const V7_2: KernelVersion = KernelVersion::new(7, 2);
const V7_3: KernelVersion = KernelVersion::new(7, 3);

/// Bytes of each object: a page of DG2's local memory.
const SIZE: u64 = 64 << 10;

/// The columns of the table, and the platforms that each stands for.
const COLUMNS: [(&str, &[&str]); 6] = [
    ("tgl", &["tgl", "rkl", "adls", "adlp"]),
    ("dg2", &["dg2"]),
    ("mtl", &["mtl"]),
    ("lnl,ptl", &["lnl", "ptl"]),
    ("bmg", &["bmg", "bmg-g31"]),
    ("nvlp", &["nvlp"]),
];

/// What the driver binds.
#[derive(Clone, Copy, PartialEq)]
enum What {
    /// An object with this `cpu_caching` and placement.
    Created(CpuCaching, u32),
    /// A dma-buf of another driver.
    Import,
    /// The process's own pages.
    Userptr,
    /// The process's address space (CPU_ADDR_MIRROR).
    Mirror,
    /// Nothing: UNMAP.
    Unmap,
}

/// A driver's choice for some memory on a platform.
#[derive(Clone, Copy)]
struct Choice {
    what: What,
    index: u16,
    accepted: bool,
}

type Cell = Option<Choice>;

const fn cell(what: What, index: u16) -> Cell {
    Some(Choice { what, index, accepted: true })
}

const fn wb(index: u16) -> Cell {
    cell(What::Created(CpuCaching::Wb, SYSTEM), index)
}

const fn wc(index: u16) -> Cell {
    cell(What::Created(CpuCaching::Wc, SYSTEM), index)
}

const fn local(index: u16) -> Cell {
    cell(What::Created(CpuCaching::Wc, LOCAL), index)
}

const fn import(index: u16) -> Cell {
    cell(What::Import, index)
}

const fn userptr(index: u16) -> Cell {
    cell(What::Userptr, index)
}

const fn mirror(index: u16) -> Cell {
    cell(What::Mirror, index)
}

const fn unmap(index: u16) -> Cell {
    cell(What::Unmap, index)
}

/// Returns the choice as one that the kernel refuses.
const fn refused(cell: Cell) -> Cell {
    match cell {
        Some(choice) => Some(Choice { accepted: false, ..choice }),
        None => None,
    }
}

const NONE: Cell = None;

/// A row of the table: the choices of a driver for some memory by column, and the rule that refuses those that are refused.
struct Row {
    driver: &'static str,
    memory: &'static str,
    cells: [Cell; 6],
    rule: Option<Rule>,
}

const fn row(driver: &'static str, memory: &'static str, cells: [Cell; 6]) -> Row {
    Row { driver, memory, cells, rule: None }
}

impl Row {
    const fn by(self, rule: Rule) -> Self {
        Self { rule: Some(rule), ..self }
    }

    /// Returns whether the driver creates the object with SCANOUT. (Before Meteor Lake media-driver does not, which changes no answer.)
    fn is_scanout(&self, caching: CpuCaching) -> bool {
        self.memory == "scanout" || self.memory == "surface" && caching == CpuCaching::Wc
    }

    /// Returns the rule that is to refuse the choice.
    fn expected(&self, choice: Choice) -> Option<Rule> {
        if choice.accepted { None } else { self.rule }
    }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    row("Mesa", "cached", [wb(0), wb(0), wb(3), wb(1), wb(1), wb(1)]),
    row("Mesa", "uncached", [wc(1), local(1), wc(1), wc(0), local(0), wc(0)]),
    row("Mesa", "scanout", [wc(1), local(1), wc(1), wc(6), local(6), wc(6)]),
    row("Mesa", "compressed", [NONE, NONE, NONE, wc(9), local(9), wc(9)]),
    row("Mesa", "userptr", [userptr(0), userptr(0), userptr(3), userptr(1), userptr(1), refused(userptr(1))])
        .by(Rule::UserptrNotFlushed),
    row("Mesa", "import", [import(0), import(0), import(3), import(1), import(1), refused(import(1))])
        .by(Rule::ImportNotFlushed),
    row("minigbm", "scanout", [wc(0), wc(0), wc(3), wc(1), wc(1), wc(1)]),
    row("minigbm", "other", [wb(0), wb(0), wb(3), wb(1), wb(1), wb(1)]),
    row("media-driver", "cached", [NONE, NONE, wb(3), wb(5), NONE, wb(5)]),
    row("media-driver", "surface", [wb(0), local(0), wc(2), wc(3), local(3), wc(3)]),
    row("media-driver", "userptr", [userptr(0), userptr(0), userptr(3), userptr(5), userptr(5), refused(userptr(5))])
        .by(Rule::UserptrNotFlushed),
    row("media-driver", "by-default", [userptr(0), userptr(0), refused(userptr(0)), refused(userptr(0)), refused(userptr(0)), refused(userptr(0))])
        .by(Rule::UserptrNotSnooped),
    row("media-driver", "import", [import(0), import(0), import(3), import(5), import(5), refused(import(5))])
        .by(Rule::ImportNotFlushed),
    row("media-driver", "as-uncached", [NONE, NONE, refused(import(2)), refused(import(3)), refused(import(3)), refused(import(3))])
        .by(Rule::ImportNotSnooped),
    row("neo", "cached", [wb(0), wb(0), wb(3), wb(1), wb(1), wb(19)]),
    row("neo", "buffer", [wb(0), local(0), wc(0), wc(0), local(1), wc(0)]),
    row("neo", "userptr", [userptr(0), userptr(0), userptr(3), userptr(1), userptr(1), userptr(19)]),
    row("neo", "userptr-unaligned", [NONE, NONE, NONE, userptr(2), NONE, NONE]),
    row("neo", "userptr-from-B0", [NONE, NONE, NONE, NONE, NONE, refused(userptr(1))])
        .by(Rule::UserptrNotFlushed),
    row("neo", "import", [import(0), import(0), import(3), import(1), import(1), refused(import(1))])
        .by(Rule::ImportNotFlushed),
    row("neo", "import-of-image", [import(0), import(0), import(3), refused(import(0)), refused(import(0)), refused(import(0))])
        .by(Rule::ImportNotSnooped),
    row("neo", "mirror", [NONE, NONE, NONE, mirror(1), mirror(0), mirror(19)]),
    row("neo", "unmap", [refused(unmap(u16::MAX)), unmap(0), unmap(0), unmap(0), unmap(0), unmap(0)])
        .by(Rule::PatIndexBeyond),
];

/// Returns the words of a cell: `wb/0`, `!5`.
fn words(cell: Cell) -> String {
    let Some(Choice { what, index, accepted }) = cell else { return "-".to_owned() };
    let refused = if accepted { "" } else { "!" };
    let caching = match what {
        What::Created(CpuCaching::Wb, _) => "wb/",
        What::Created(CpuCaching::Wc, SYSTEM) => "wc/",
        What::Created(CpuCaching::Wc, _) => "local/",
        What::Import | What::Userptr | What::Mirror | What::Unmap => "",
    };
    format!("{refused}{caching}{index}")
}

/// Returns the lines of the table, with one space between words.
fn lines() -> Vec<String> {
    let heads = COLUMNS.map(|(head, _)| head).join(" ");
    let mut lines = vec![format!("driver memory {heads} rule")];
    for row in TABLE {
        let cells = row.cells.map(words).join(" ");
        let rule = row.rule.map(|rule| format!(" {rule}")).unwrap_or_default();
        lines.push(format!("{} {} {cells}{rule}", row.driver, row.memory));
    }
    lines
}

/// Returns the choices with their rows, platforms and devices, under each kernel that drives the platform and has the request.
fn choices() -> Vec<(&'static Row, Choice, Device)> {
    let mut found = Vec::new();
    for row in TABLE {
        for ((_, names), choice) in COLUMNS.iter().zip(row.cells) {
            let Some(choice) = choice else { continue };
            for (name, kernel) in
                names.iter().flat_map(|name| [V6_12, V7_2, V7_3].map(|kernel| (name, kernel)))
            {
                if choice.what == What::Mirror && kernel == V6_12 {
                    continue;
                }
                if let Ok(device) = xe::by_name(name).unwrap().device(kernel) {
                    found.push((row, choice, device));
                }
            }
        }
    }
    found
}

/// The rules that refuse an index.
struct Answer {
    /// By GEM_CREATE or VM_BIND.
    bind: Option<Rule>,
    /// By MADVISE.
    advice: Option<Rule>,
}

/// Returns the object that is bound, if one is, or the rule that refuses to create it.
fn object(row: &Row, what: What, device: Device) -> Result<Option<Object>, Rule> {
    match what {
        What::Created(caching, placement) => {
            let flags = if row.is_scanout(caching) { CreateFlags::SCANOUT } else { CreateFlags::empty() };
            let request = Create { placement, flags, ..Create::new(SIZE, caching) };
            device.create(&request).map(Some).map_err(|refusal| refusal.rule)
        }
        What::Import => Ok(Some(Object::imported(SIZE))),
        What::Userptr | What::Mirror | What::Unmap => Ok(None),
    }
}

/// Returns the kernel's answers if the driver chose `index`.
fn answer(row: &Row, choice: Choice, index: u16, device: Device) -> Answer {
    let object = match object(row, choice.what, device) {
        Ok(object) => object,
        Err(rule) => return Answer { bind: Some(rule), advice: None },
    };
    let mirrored = Bind { flags: BindFlags::CPU_ADDR_MIRROR, ..Bind::bare(BindOp::Map, 0, SIZE, index) };
    let (bind, bound) = match (&object, choice.what) {
        (Some(object), _) => (Bind::map(object, 0, index), vec![Bound::Object(object)]),
        (None, What::Mirror) => (mirrored, vec![Bound::Process]),
        (None, What::Unmap) => (Bind::bare(BindOp::Unmap, 0, SIZE, index), vec![]),
        (None, What::Userptr | What::Created(..) | What::Import) => {
            (Bind::userptr(0, 0, SIZE, index), vec![Bound::Process])
        }
    };
    let bind = device.bind(&[bind], choice.what == What::Mirror).err().map(|(_, refusal)| refusal.rule);
    let advice = device.madvise_pat(0, SIZE, index, false, &bound).err().map(|refusal| refusal.rule);
    Answer { bind, advice }
}

/// Returns what has to be done after `writer` wrote the choice's object and before `next` accesses it.
fn decide(row: &Row, choice: Choice, device: Device, writer: Agent, next: Agent) -> Decision {
    let object = object(row, choice.what, device).unwrap();
    let memory = object.as_ref().map_or(Memory::Process, Memory::Object);
    device.needs_flush(memory, choice.index, writer, next, When::AfterFence)
}

#[test]
fn the_page_has_the_table() {
    let section = PAGE.split("\n## ").find(|section| section.starts_with("Under xe\n")).expect("its section");
    let block =
        section.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("its block");
    let shown: Vec<_> =
        block.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(shown, lines());
    // Each rule that refuses a choice stands in the table.
    for row in TABLE {
        let refuses = row.cells.iter().flatten().any(|choice| !choice.accepted);
        assert_eq!(refuses, row.rule.is_some(), "{} {}", row.driver, row.memory);
    }
}

#[test]
fn the_kernel_answers_each_choice_as_the_table_says() {
    for (row, choice, device) in choices() {
        let what = format!("{} {} {} {}", row.driver, row.memory, device.platform, device.kernel);
        let expected = row.expected(choice);
        let Answer { bind, advice } = answer(row, choice, choice.index, device);
        assert_eq!(bind, expected, "{what}");
        if device.kernel == V6_12 {
            assert_eq!(advice, Some(Rule::MadviseUnknown), "{what}");
        } else if device.platform.discrete {
            // MADVISE lets a discrete device stop snooping.
            assert_eq!(advice, None, "{what}");
        } else if device.is_l2_flush_optimized() && expected == Some(Rule::UserptrNotSnooped) {
            // MADVISE makes this check first.
            assert_eq!(advice, Some(Rule::UserptrNotFlushed), "{what}");
        } else {
            assert_eq!(advice, expected, "{what}");
        }
    }
}

#[test]
fn an_index_that_does_not_snoop_is_refused_for_what_the_cpu_caches_and_no_other() {
    let mut flipped = BTreeSet::new();
    for (row, choice, device) in choices().into_iter().filter(|(_, choice, _)| choice.accepted) {
        let none = answer(row, choice, device.pat.own.none, device).bind;
        let expected = match choice.what {
            What::Created(CpuCaching::Wb, _) => Some(Rule::CachedNotSnooped),
            What::Import => Some(Rule::ImportNotSnooped),
            What::Userptr => Some(Rule::UserptrNotSnooped),
            What::Mirror if !device.platform.discrete => Some(Rule::MirrorNotSnooped),
            What::Created(CpuCaching::Wc, _) | What::Mirror | What::Unmap => None,
        };
        assert_eq!(none, expected, "{} {} {}", row.driver, row.memory, device.platform);
        if none.is_some() {
            flipped.insert(row.driver);
        }
    }
    assert_eq!(flipped, TABLE.iter().map(|row| row.driver).collect());
}

#[test]
fn the_librarys_choice_is_accepted_where_the_drivers_is_refused() {
    let mut replaced = 0;
    for (row, choice, device) in choices().into_iter().filter(|(_, choice, _)| !choice.accepted) {
        let purpose = match choice.what {
            What::Userptr => Use::Userptr,
            What::Import => Use::Import,
            What::Created(..) | What::Mirror | What::Unmap => Use::ReadBack,
        };
        let index = device.choose(purpose, SIZE).unwrap().pat_index;
        assert_eq!(answer(row, choice, index, device).bind, None, "{} {}", row.driver, device.platform);
        replaced += 1;
    }
    assert!(replaced > 20, "{replaced}");
}

#[test]
fn no_driver_has_to_flush_the_cpus_cache_for_the_engines() {
    for (row, choice, device) in choices() {
        if !choice.accepted || matches!(choice.what, What::Mirror | What::Unmap) {
            continue;
        }
        let what = format!("{} {} {}", row.driver, row.memory, device.platform);
        let to_gpu = decide(row, choice, device, Agent::Cpu, Agent::Gpu).verdict;
        assert!(matches!(to_gpu, Verdict::NotNeeded | Verdict::Drain), "{what}: {to_gpu}");
        let to_cpu = decide(row, choice, device, Agent::Gpu, Agent::Cpu);
        // On Nova Lake-P lines that are neither transient for the CPU (XA) nor 2-way may stay in the GPU's cache.
        let entry = device.pat.entry(choice.index).unwrap();
        let kept = matches!(entry.l3, Some(CachePolicy::Wb | CachePolicy::Xd));
        let stays = device.platform.name() == "nvlp" && kept;
        let expected = if stays { Verdict::FlushGpu } else { Verdict::NotNeeded };
        assert_eq!(to_cpu.verdict, expected, "{what}: {}", to_cpu.rule);
        assert!(!stays || to_cpu.rule == Rule::TransientOnly, "{what}");
    }
}

#[test]
fn what_is_left_is_the_display() {
    for (row, choice, device) in choices() {
        let gpu = |row| decide(row, choice, device, Agent::Gpu, Agent::Display).rule;
        let cpu = |row| decide(row, choice, device, Agent::Cpu, Agent::Display).rule;
        let what = format!("{} {} {}", row.driver, row.memory, device.platform);
        let discrete = device.platform.discrete;
        let local = matches!(choice.what, What::Created(_, LOCAL));
        match (row.driver, row.memory) {
            ("minigbm", "scanout") => {
                // minigbm's scanout objects are bound by the index of an import.
                let expected = match device.platform.name() {
                    _ if discrete => Rule::DisplayShowsLocal,
                    "tgl" | "rkl" | "adls" | "adlp" => Rule::LlcLinesShown,
                    "nvlp" => Rule::GpuLinesShown,
                    _ => Rule::GpuWriteShown,
                };
                assert_eq!(gpu(row), expected, "{what}");
                assert_eq!(
                    cpu(row),
                    if discrete { Rule::DisplayShowsLocal } else { Rule::WcDrain },
                    "{what}"
                );
            }
            ("minigbm", "other") if !discrete => assert_eq!(cpu(row), Rule::DisplayReadsMemory, "{what}"),
            _ if matches!(choice.what, What::Created(caching, _) if row.is_scanout(caching)) => {
                assert_eq!(gpu(row), Rule::GpuWriteShown, "{what}");
                assert_eq!(cpu(row), if local { Rule::BarDrain } else { Rule::WcDrain }, "{what}");
            }
            _ => {}
        }
    }
}
