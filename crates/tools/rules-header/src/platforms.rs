//! The platforms: PCI IDs, capabilities by kernel and by a device's answers, levels of new objects, MOCS entries.

use gem_coherency_policy::platform::{
    self, CONSERVATIVE, Caps, Fact, Machine, Platform, mocs_class, mode_level,
};
use gem_coherency_policy::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency_policy::vocabulary::{CachingMode, KernelVersion, MocsClass};

use super::pack::{Distinct, elements, list};

/// Number of PAT indices that the kernel accepts at most.
const PAT_INDICES: u8 = 5;
/// The level of a PAT index that the kernel refuses.
const NO_LEVEL: usize = 255;

/// A platform under a range of kernels, with or without eDRAM: everything that the functions look up.
#[derive(Clone, PartialEq)]
struct Row {
    name: &'static str,
    /// The index of the capabilities in [`Platforms::caps`].
    caps: usize,
    /// The index in [`Platforms::mocs`].
    mocs: usize,
}

/// The levels of new objects.
#[derive(Debug, PartialEq)]
struct Levels {
    /// Those of the caching modes NONE, CACHED, DISPLAY and DEFAULT.
    caching: [usize; 4],
    /// Those of PAT indices.
    pat: Vec<usize>,
}

/// A row, and the first kernel that it is about.
struct Since {
    platform: usize,
    kernel: KernelVersion,
    edram: bool,
    row: Row,
}

/// Every platform that the header knows.
pub struct Platforms {
    caps: Distinct<Caps>,
    /// The levels of new objects for each set of capabilities.
    levels: Vec<Levels>,
    mocs: Distinct<Vec<(u8, MocsClass)>>,
    rows: Vec<Since>,
    /// PCI IDs in order, with the index of the platform.
    ids: Vec<(u16, usize)>,
}

/// Returns the kernels at which a platform's row may change, the newest one first.
fn kernels() -> impl Iterator<Item = KernelVersion> {
    (4..=9).rev().flat_map(|major| (0..=30).rev().map(move |minor| KernelVersion::new(major, minor)))
}

impl Platforms {
    /// Evaluates the rules crate for every platform.
    pub fn collect() -> Self {
        let mut platforms = Self {
            caps: Distinct::new(),
            levels: Vec::new(),
            mocs: Distinct::new(),
            rows: Vec::new(),
            ids: Vec::new(),
        };
        let all = platform::all().iter().copied().chain([&CONSERVATIVE]);
        for (index, platform) in all.enumerate() {
            let mut ids: Vec<u16> =
                platform.ids().filter(|row| row.subsystem.is_none()).map(|row| row.id).collect();
            // The first row that lists an ID decides, as in the rules crate.
            ids.retain(|&id| platform::by_id(id).is_ok_and(|first| first == platform));
            platforms.ids.extend(ids.into_iter().map(|id| (id, index)));
            for edram in [true, false] {
                platforms.add(index, platform, edram);
            }
        }
        platforms.ids.sort_unstable();
        platforms.ids.dedup();
        platforms
    }

    /// Adds the rows of a platform, the newest kernel's first.
    fn add(&mut self, index: usize, platform: &'static Platform, edram: bool) {
        if edram && !platform.edram_probed {
            return;
        }
        let mut newest: Option<Since> = None;
        for kernel in kernels() {
            let row = self.row(&platform.machine(kernel, edram));
            match &mut newest {
                Some(since) if since.row == row => since.kernel = kernel,
                _ => self.rows.extend(newest.replace(Since { platform: index, kernel, edram, row })),
            }
        }
        if let Some(mut oldest) = newest {
            oldest.kernel = KernelVersion::new(0, 0);
            self.rows.push(oldest);
        }
    }

    /// Evaluates the rules for a machine, and for each of its answers about its capabilities.
    fn row(&mut self, machine: &Machine) -> Row {
        let (caps, mocs) = (self.with_levels(machine), self.mocs_of(machine));
        // The conservative platform has no device, which could answer.
        let combinations = if machine.platform == &CONSERVATIVE { 0 } else { 1 << Fact::ALL.len() };
        for answers in 0..combinations {
            let mut answered = *machine;
            for (place, fact) in Fact::ALL.iter().enumerate() {
                answered.caps.set(fact.cap(), answers & 1 << place != 0);
            }
            self.with_levels(&answered);
            assert_eq!(self.mocs_of(&answered), mocs, "no answer concerns MOCS entries");
        }
        Row { name: machine.platform.name, caps, mocs }
    }

    /// Returns the index of the MOCS entries' classes.
    fn mocs_of(&mut self, machine: &Machine) -> usize {
        let mut runs: Vec<(u8, MocsClass)> = Vec::new();
        for entry in 0..=u8::MAX {
            let class = mocs_class(machine, entry);
            if runs.last().is_none_or(|&(_, last)| last != class) {
                runs.push((entry, class));
            }
        }
        self.mocs.index(runs)
    }

    /// Returns the index of a machine's capabilities, whose levels are kept.
    fn with_levels(&mut self, machine: &Machine) -> usize {
        let caps = machine.caps;
        let rules = KernelRules::of(machine.kernel)
            .or_else(|_| KernelRules::of(KernelRules::OLDEST))
            .expect("the oldest has rules");
        let created =
            |creation| Snapshot::created(caps, &rules, creation).map_or(NO_LEVEL, |new| new.level as usize);
        let [none, cached, display] = [CachingMode::None, CachingMode::Cached, CachingMode::Display]
            .map(|mode| mode_level(caps, mode) as usize);
        let levels = Levels {
            caching: [none, cached, display, created(Creation::User)],
            pat: (0..PAT_INDICES).map(|index| created(Creation::UserWithPat(index))).collect(),
        };
        let index = self.caps.index(caps);
        match self.levels.get(index) {
            Some(known) => assert_eq!(*known, levels, "capabilities decide the levels"),
            None => self.levels.push(levels),
        }
        index
    }

    /// Returns the different capabilities.
    pub fn caps(&self) -> &[Caps] {
        self.caps.values()
    }

    /// Prints the tables. `tables` has the index of the decisions of each set of capabilities.
    pub fn print(&self, tables: &[usize]) {
        println!(
            "/* Runs of MOCS entries of one class: the first entry and the class; each table begins with entry 0. */"
        );
        println!("static const uint8_t gemcr_mocs_runs[][2] = {{");
        let mut starts = Vec::new();
        let mut start = 0;
        for runs in self.mocs.values() {
            starts.push(start);
            start += runs.len();
            println!(
                "{}",
                elements(runs.iter().map(|&(entry, class)| list(&[entry.into(), class as usize])))
            );
        }
        println!("    {{ 0, 0 }},\n}};\n");
        assert!(self.levels.len() <= 256, "an index is a byte");
        println!(
            "/* What capabilities decide: the table of gemcr_row_of, and the levels by caching mode and by PAT index, 255 where the kernel"
        );
        println!(" * refuses it. */");
        println!(
            "static const struct {{ unsigned caps; uint8_t rows, levels[4], pat[5]; }} gemcr_by_caps[] = {{"
        );
        for ((caps, levels), table) in self.caps().iter().zip(&self.levels).zip(tables) {
            let (caching, pat) = (list(&levels.caching), list(&levels.pat));
            println!("    {{ {:#x}, {table}, {caching}, {pat} }},", caps.bits());
        }
        println!("}};\n");
        println!("/* By platform, the newest kernel first; with eDRAM before without. */");
        println!("static const struct gemcr_platform gemcr_platforms[] = {{");
        for Since { platform, kernel, edram, row } in &self.rows {
            println!(
                "    {{ \"{}\", {:#x}, {}, {platform}, {}, {}, {} }},",
                row.name,
                self.caps.values()[row.caps].bits(),
                u32::from(kernel.major) << 8 | u32::from(kernel.minor),
                u8::from(*edram),
                starts[row.mocs],
                row.caps,
            );
        }
        println!("}};\n");
        println!("/* PCI IDs in order, with the platform's number. */");
        println!("static const struct {{ uint16_t id; uint8_t platform; }} gemcr_ids[] = {{");
        println!(
            "{}",
            elements(self.ids.iter().map(|(id, platform)| format!("{{ {id:#06x}, {platform} }}")))
        );
        println!("}};\n");
    }
}
