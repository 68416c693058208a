//! Random programs: no access of any agent changes if a flush is left out that is called useless, whatever the caches do.
//!
//! A program runs on a software device whose adversary evicts, writes back and fills lines. It has an object of two pages, its mappings,
//! and a second device that imports it. A flush that is left out is replaced by one of another line, so that the adversary does the same
//! in both runs.

use std::collections::BTreeMap;

use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::drm::{Drm, ExecObject, Mapping};
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode, MocsClass};
use gem_coherency_hierarchy::Route;
use gem_coherency_sim::{Deed, Fact, FoundLine, Instruction, Soft, Upkeep};
use std::os::fd::AsFd;

use super::super::Judge;
use crate::need::Need;

const SIZE: u64 = 8192;
/// The lines that programs use: in two pages.
const LINES: [u64; 5] = [0, 1, 7, 63, 64];
/// A line that no program uses.
const SPARE: u64 = 127;
/// The number of the object on its device.
const OBJECT: u64 = 1;
const SEEDS: u64 = 16;
/// Kinds of steps of every program, by weight.
const COMMON: u64 = 26;

/// A step of a program; most have a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Of this byte, through one of two write-back mappings, as two processes have them.
    Store(u64, u8, bool),
    /// Of the bytes that the program stored last.
    StoreEqual(u64),
    StoreWc(u64, u8),
    StoreGtt(u64, u8),
    Load(u64, bool),
    LoadWc(u64),
    Flush(u64),
    WriteBack(u64),
    Pread(u64),
    Pwrite(u64, u8),
    SetDomain,
    Submit,
    GpuRead(u64, MocsClass),
    GpuWrite(u64, u8),
    /// The object becomes a framebuffer.
    Frame,
    Display(u64),
    ImporterRead(u64),
    ImporterWrite(u64, u8),
    /// Commands that are not simulated name the object, and access the line.
    SkippedRead(u64),
    SkippedWrite(u64, u8),
}
use Step::*;

/// A cause of wrong verdicts that can be put back, by the facts that the judge is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Display,
    Import,
    EqualBytes,
    NotSimulated,
}

impl Root {
    /// Returns whether the judge is told of a fact.
    fn tells(self, deed: &Deed) -> bool {
        match self {
            Self::Display => {
                !matches!(deed, Deed::Accessed { route: Route::Display, .. })
                    && *deed != Deed::Event(gem_coherency::policy::kernel::Event::AddFramebuffer)
            }
            Self::Import => !matches!(deed, Deed::Foreign { .. } | Deed::Exported | Deed::Attached),
            Self::EqualBytes => !matches!(deed, Deed::Opened { .. } | Deed::Closed { .. }),
            Self::NotSimulated => !matches!(deed, Deed::Bound { .. }),
        }
    }
}

/// A generator of numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    /// Returns a program: of the commonest steps on two lines, or with those of one group of agents, or with all on all lines.
    fn program(&mut self) -> Vec<Step> {
        let steps = 6 + self.below(20);
        let (lines, first, kinds) = match self.below(8) {
            0 => (2, COMMON, 0),
            1 => (LINES.len() as u64, COMMON, 16),
            group => (2, COMMON + 4 * (group - 2).min(3), 4),
        };
        let mut step = || {
            let kind = self.below(COMMON + kinds);
            self.step(lines, if kind < COMMON { kind } else { kind - COMMON + first })
        };
        (0..steps).map(|_| step()).collect()
    }

    fn step(&mut self, lines: u64, kind: u64) -> Step {
        let line = LINES[self.below(lines) as usize];
        let byte = self.below(3) as u8;
        let flag = self.below(4) == 0;
        match kind {
            0..4 => Store(line, byte, flag),
            4..8 => StoreEqual(line),
            8..15 => Flush(line),
            15 => WriteBack(line),
            16..18 => Load(line, flag),
            18..20 => GpuRead(line, if flag { MocsClass::BypassLlc } else { MocsClass::PageTable }),
            20..22 => GpuWrite(line, byte),
            22 => Pread(line),
            23 => Pwrite(line, byte),
            24 => SetDomain,
            25 => Submit,
            // The groups of four.
            26 => StoreWc(line, byte),
            27 => StoreGtt(line, byte),
            28 | 29 => LoadWc(line),
            30 => Frame,
            31..34 => Display(line),
            34..37 => ImporterRead(line),
            37 => ImporterWrite(line, byte),
            38 => SkippedRead(line),
            39 | 40 => SkippedWrite(line, byte),
            _ => Load(line, flag),
        }
    }
}

/// A run of a program.
struct Run {
    device: Soft,
    importer: Soft,
    handle: Handle,
    imported: Option<Handle>,
    maps: [Mapping; 2],
    wc: Option<Mapping>,
    gtt: Option<Mapping>,
    /// The pages that are open in each mapping.
    open: [[bool; 2]; 2],
    /// The bytes that agents got.
    seen: Vec<u8>,
    /// What the judge is told.
    facts: Vec<Fact>,
    /// The loads, each before the fact with a number: the library reports those of old copies, and a judge ignores others.
    loads: Vec<(usize, u64)>,
}

impl Run {
    fn new(platform: &str, program: &[Step], seed: Option<u64>) -> Self {
        let seed = seed.map_or_else(String::new, |seed| format!(",seed={seed}"));
        let device = Soft::open(&format!("sim:{platform}{seed}")).unwrap();
        device.trace_own();
        let handle = device.create(SIZE).unwrap().handle;
        let map = |mode| device.map(handle, mode, SIZE).ok();
        let maps = [(); 2].map(|()| map(MmapMode::Wb).unwrap());
        // A program has the mappings that it uses.
        let uses = |is: fn(&Step) -> bool| program.iter().any(is);
        let wc = uses(|step| matches!(step, StoreWc(..) | LoadWc(_))).then(|| map(MmapMode::Wc)).flatten();
        let gtt = uses(|step| matches!(step, StoreGtt(..))).then(|| map(MmapMode::Gtt)).flatten();
        let importer = Soft::open("sim:glk").unwrap();
        let mut run = Self {
            device,
            importer,
            handle,
            imported: None,
            maps,
            wc,
            gtt,
            open: Default::default(),
            seen: Vec::new(),
            facts: Vec::new(),
            loads: Vec::new(),
        };
        run.hear(|_| true);
        let past = [(&run.wc, Route::CpuUncached), (&run.gtt, Route::Aperture)];
        let past = past.into_iter().filter(|(map, _)| map.is_some()).map(|(_, route)| route);
        let mapped: Vec<_> = std::iter::once(Route::CpuCached).chain(past).collect();
        run.facts.extend(mapped.into_iter().map(|route| Fact { object: OBJECT, deed: Deed::Mapped(route) }));
        run
    }

    /// Takes the facts since the last time, as far as `is_told`.
    fn hear(&mut self, is_told: impl Fn(&Deed) -> bool) {
        let (facts, dropped) = self.device.take_trace();
        assert_eq!(dropped, 0);
        // What programs do through mappings past the cache is not seen.
        let past =
            |deed: &Deed| matches!(deed, Deed::Accessed { route: Route::CpuUncached | Route::Aperture, .. });
        self.facts.extend(facts.into_iter().filter(|fact| is_told(&fact.deed) && !past(&fact.deed)));
    }

    /// Stores as the program does: a store to a page that is not open is seen, and another one shows in its bytes.
    fn store(&mut self, line: u64, byte: u8, second: bool) {
        let page = (line / 64) as usize;
        let map = &self.maps[usize::from(second)];
        let mut before = [0];
        map.copy_out(line * LINE_BYTES, &mut before).unwrap();
        self.hear(|deed| !is_load(deed));
        if !std::mem::replace(&mut self.open[usize::from(second)][page], true) {
            self.device.opened(OBJECT, page as u64 * 64, 1 << (line % 64));
        } else if before != [byte] {
            self.facts.push(Fact { object: OBJECT, deed: Deed::Stored(LineRange::new(line, line + 1)) });
        }
        self.hear(|_| true);
        self.maps[usize::from(second)].copy_in(line * LINE_BYTES, &[byte]).unwrap();
        self.hear(|deed| !matches!(deed, Deed::Accessed { .. }));
    }

    /// Flushes a line, or in its place a spare one.
    fn flush(&mut self, line: u64, op: LineOp, site: u64, without: bool) {
        let lines = if without { SPARE } else { line };
        self.maps[0].perform(op, LineRange::new(lines, lines + 1)).unwrap();
        let page = (line / 64) as usize;
        for open in &mut self.open {
            if std::mem::take(&mut open[page]) {
                self.device.closed(OBJECT, page as u64 * 64);
            }
        }
        let upkeep = if op == LineOp::Flush { Upkeep::Flush } else { Upkeep::WriteBack };
        let found = FoundLine::Clean;
        self.device.maintained(&Instruction { object: OBJECT, line, upkeep, site, found, bytes: [0; 64] });
    }

    /// Returns the second device's handle, importing the object at first.
    fn imported(&mut self) -> Handle {
        *self.imported.get_or_insert_with(|| {
            let dma_buf = self.device.export(self.handle).unwrap();
            self.importer.import(dma_buf.as_fd()).unwrap().handle
        })
    }

    fn take(&mut self, number: usize, step: Step, without: bool) {
        let at = |line: u64| line * LINE_BYTES;
        let mut byte = [0];
        let device = &self.device;
        match step {
            Store(line, byte, second) => self.store(line, byte, second),
            StoreEqual(line) => {
                self.maps[0].copy_out(at(line), &mut byte).unwrap();
                self.hear(|deed| !is_load(deed));
                self.store(line, byte[0], false);
            }
            StoreWc(line, byte) => drop(self.wc.as_ref().map(|map| map.copy_in(at(line), &[byte]))),
            StoreGtt(line, byte) => drop(self.gtt.as_ref().map(|map| map.copy_in(at(line), &[byte]))),
            Load(line, second) => {
                self.maps[usize::from(second)].copy_out(at(line), &mut byte).unwrap();
                self.hear(|deed| !is_load(deed));
                self.loads.push((self.facts.len(), line));
                self.seen.extend(byte);
            }
            LoadWc(line) => {
                if let Some(wc) = &self.wc {
                    wc.copy_out(at(line), &mut byte).unwrap();
                }
                self.seen.extend(byte);
            }
            Flush(line) => self.flush(line, LineOp::Flush, number as u64, without),
            WriteBack(line) => self.flush(line, LineOp::WriteBack, number as u64, without),
            Pread(line) => {
                // Refused on some platforms.
                let _ = device.pread(self.handle, at(line), &mut byte);
                self.seen.extend(byte);
            }
            Pwrite(line, byte) => drop(device.pwrite(self.handle, at(line), &[byte; 64])),
            SetDomain => drop(device.set_domain(self.handle, Domains::CPU, Domains::CPU)),
            Submit => device.execute(&[ExecObject { handle: self.handle, access: Access::Read }]).unwrap(),
            GpuRead(line, mocs) => {
                device.gpu_read(self.handle, mocs, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
            }
            GpuWrite(line, byte) => {
                device.gpu_write(self.handle, MocsClass::PageTable, at(line), &[byte]).unwrap();
            }
            Frame => device.set_framebuffer(self.handle).unwrap(),
            Display(line) => {
                device.display_read(self.handle, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
            }
            ImporterRead(line) => {
                let handle = self.imported();
                self.importer.gpu_read(handle, MocsClass::PageTable, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
            }
            ImporterWrite(line, byte) => {
                let handle = self.imported();
                self.importer.gpu_write(handle, MocsClass::PageTable, at(line), &[byte]).unwrap();
            }
            SkippedRead(line) | SkippedWrite(line, _) => {
                self.hear(|_| true);
                let (route, lines) = (Route::Gpu(MocsClass::PageTable), LineRange::new(0, SIZE / LINE_BYTES));
                self.facts.push(Fact { object: OBJECT, deed: Deed::Bound { route, lines, handle: None } });
                if let SkippedWrite(_, byte) = step {
                    self.device.gpu_write(self.handle, MocsClass::PageTable, at(line), &[byte]).unwrap();
                } else {
                    self.device.gpu_read(self.handle, MocsClass::PageTable, at(line), &mut byte).unwrap();
                    self.seen.extend(byte);
                }
                self.hear(|deed| !matches!(deed, Deed::Accessed { .. }));
            }
        }
        self.hear(|_| true);
    }
}

/// Returns whether a fact is of a load or a store through a write-back mapping, which a program's are not.
fn is_load(deed: &Deed) -> bool {
    matches!(deed, Deed::Accessed { route: Route::CpuCached, .. })
}

/// Runs a program, without one of its steps; returns the run.
fn run(platform: &str, program: &[Step], without: Option<usize>, seed: Option<u64>) -> Run {
    let mut run = Run::new(platform, program, seed);
    for (number, &step) in program.iter().enumerate() {
        run.take(number, step, without == Some(number));
    }
    run
}

/// Returns the steps whose flushes are called useless, by a judge that is not told of `root`.
fn useless(platform: &str, program: &[Step], root: Option<Root>) -> Vec<usize> {
    let run = run(platform, program, None, None);
    let mut judge = Judge::own(run.device.machine(), run.device.rules());
    let mut loads = run.loads.iter().peekable();
    for (number, &fact) in run.facts.iter().enumerate() {
        while let Some(&(_, line)) = loads.next_if(|(before, _)| *before == number) {
            judge.load(OBJECT, LineRange::new(line, line + 1));
        }
        if root.is_none_or(|root| root.tells(&fact.deed)) {
            judge.hear((vec![fact], 0));
        }
    }
    for &(_, line) in loads {
        judge.load(OBJECT, LineRange::new(line, line + 1));
    }
    let flushed = judge.flushed();
    let is_useless = |number: &usize| flushed.counts(*number as u64).worst() == Some(Need::Useless);
    (0..program.len()).filter(is_useless).collect()
}

/// Looks for a flush that is called useless and without which an access changes; returns the numbers of verdicts, and of programs by
/// kind of step.
fn search(programs: u64, root: Option<Root>) -> Result<(u64, BTreeMap<String, u64>), String> {
    let mut numbers = Numbers(40);
    let (mut verdicts, mut kinds) = (0, BTreeMap::new());
    for count in 0..programs {
        let program = numbers.program();
        let names =
            program.iter().map(|step| format!("{step:?}").split('(').next().unwrap_or_default().to_owned());
        names
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .for_each(|name| *kinds.entry(name).or_insert(0) += 1);
        let platform = ["glk", "tgl", "jsl", "glk", "mtl"][(count % 5) as usize];
        let steps = useless(platform, &program, root);
        verdicts += steps.len() as u64;
        let seeds = std::iter::once(None).chain((0..SEEDS).map(Some)).filter(|_| !steps.is_empty());
        for seed in seeds {
            let with = run(platform, &program, None, seed).seen;
            for &step in &steps {
                let without = run(platform, &program, Some(step), seed).seen;
                if with != without {
                    return Err(format!(
                        "{platform}, seed {seed:?}: step {step} of {program:?}: {with:?} {without:?}"
                    ));
                }
            }
        }
    }
    Ok((verdicts, kinds))
}

/// The number of programs that are tried.
const PROGRAMS: u64 = 400;

#[test]
fn a_flush_that_is_called_useless_can_be_left_out() {
    let (verdicts, kinds) = search(PROGRAMS, None).unwrap();
    println!("{verdicts} useless flushes in {PROGRAMS} programs; programs with each step: {kinds:?}");
    assert!(verdicts > PROGRAMS / 4, "{verdicts}");
    assert!(kinds.values().all(|&count| 20 * count >= PROGRAMS), "{kinds:?}");
}

#[test]
fn each_cause_of_wrong_verdicts_is_found_again_if_it_is_put_back() {
    for root in [Root::Display, Root::Import, Root::EqualBytes, Root::NotSimulated] {
        let found = search(PROGRAMS, Some(root));
        println!("{root:?}: {}", found.as_ref().err().map_or("nothing", String::as_str));
        assert!(found.is_err(), "{root:?}");
    }
}
