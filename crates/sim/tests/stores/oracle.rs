//! The values that each read may see: the rules say what the kernel flushes, the hierarchy what an access does to a line.
//! Nothing here is the software device's or the machine's.

use std::collections::BTreeSet;

use gem_coherency::Errno;
use gem_coherency::policy::driver::{Path, path_refusal};
use gem_coherency::policy::kernel::{Action, Creation, Event, KernelRules, Snapshot, step};
use gem_coherency::vocabulary::{Access, Domains, MmapMode, MocsClass};
use gem_coherency_memory_model::{Hardware, Route};

use super::line::{AccessContext, Possible};
use super::step::{Domain, LINES, OBJECTS, Spot, Step, WORDS};

/// An object, as the kernel and the hierarchy have it.
#[derive(Clone, Debug)]
struct Object {
    snapshot: Snapshot,
    lines: Vec<Possible>,
}

/// The objects of one device.
#[derive(Clone, Debug)]
pub struct Oracle {
    hardware: Hardware,
    rules: KernelRules,
    moves: bool,
    objects: Vec<Object>,
}

/// What a step may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It is refused.
    Refused(Errno),
    /// It is done, and reads nothing.
    Done,
    /// It reads one of these.
    Reads(BTreeSet<u32>),
}

/// The flushes around a copy of the kernel.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    before: bool,
    after: bool,
}

impl Oracle {
    /// Objects that [`Step::Renew`] makes first. `moves`: the cache moves lines by itself.
    pub fn new(hardware: Hardware, rules: KernelRules, moves: bool) -> Self {
        let fresh = Snapshot::created(hardware.caps, &rules, Creation::User).expect("there are such objects");
        let object = Object { snapshot: fresh, lines: Vec::new() };
        Self { hardware, rules, moves, objects: vec![object; OBJECTS] }
    }

    /// Returns whether an access would raise SIGBUS.
    pub fn faults(&self, step: Step) -> bool {
        let (Step::Load(spot, mode) | Step::Store(spot, mode)) = step else { return false };
        let level = self.objects[spot.object].snapshot.level;
        path_refusal(self.hardware.caps, level, Path::Cpu(mode)).is_some()
    }

    /// Takes a step and what it read; returns what it may do.
    pub fn take(&mut self, made: Step, value: u32, seen: Option<u32>) -> Expected {
        self.try_take(made, value, seen).unwrap_or_else(Expected::Refused)
    }

    fn try_take(&mut self, made: Step, value: u32, seen: Option<u32>) -> Result<Expected, Errno> {
        match made {
            Step::Load(spot, mode) => return Ok(Expected::Reads(self.read(spot, route(mode), seen))),
            Step::Store(spot, mode) => self.store(spot, route(mode), value),
            Step::Line(spot, op) => {
                let terms = self.terms(spot.object);
                self.line(spot).flush_later(terms, op);
            }
            Step::Fence => (0..OBJECTS).for_each(|object| self.drain(object, None)),
            Step::SetDomain(object, domain, access) => {
                let event = match domain {
                    Domain::Cpu => Event::SetDomainCpu(access),
                    Domain::Gtt => Event::SetDomainGtt(access),
                    Domain::Wc => Event::SetDomainWc(access),
                };
                self.happen(object, event)?;
            }
            Step::SetCaching(object, mode) => {
                self.happen(object, Event::SetCaching(mode))?;
            }
            Step::Pread(spot) => {
                let around = self.happen(spot.object, Event::Pread)?;
                self.flush_if(around.before, spot);
                return Ok(Expected::Reads(self.read(spot, Route::CpuCached, seen)));
            }
            Step::Pwrite(spot) => self.pwrite(&[spot], true, value)?,
            Step::PwriteLine(spot) => {
                let spots: Vec<_> = (0..WORDS.len()).map(|word| Spot { word, ..spot }).collect();
                self.pwrite(&spots, false, value)?;
            }
            Step::GpuRead(spot) => return self.gpu_read(spot, MocsClass::PageTable, seen),
            Step::GpuReadPastLlc(spot) => return self.gpu_read(spot, MocsClass::BypassLlc, seen),
            Step::GpuStore(spot) => {
                self.happen(spot.object, Event::Exec(Access::Write))?;
                self.write(spot, GPU, &BTreeSet::from([value]));
            }
            Step::GpuCopy(to, from) => {
                self.happen(to.object, Event::Exec(Access::Write))?;
                self.happen(from.object, Event::Exec(Access::Read))?;
                let values = self.read(from, GPU, None);
                self.write(to, GPU, &values);
            }
            Step::Renew(object) => {
                let caps = self.hardware.caps;
                let fresh = Snapshot::created(caps, &self.rules, Creation::User)
                    .map_err(|refusal| refusal.errno.unwrap_or(Errno::EIO))?;
                let lines = vec![Possible::flushed(value); LINES.len()];
                self.objects[object] = Object { snapshot: fresh, lines };
                self.happen(object, Event::Fault)?;
            }
        }
        Ok(Expected::Done)
    }

    fn terms(&self, object: usize) -> AccessContext {
        let level = self.objects[object].snapshot.level;
        AccessContext { hardware: self.hardware, level, moves: self.moves }
    }

    fn line(&mut self, spot: Spot) -> &mut Possible {
        &mut self.objects[spot.object].lines[spot.line]
    }

    fn read(&mut self, spot: Spot, route: Route, seen: Option<u32>) -> BTreeSet<u32> {
        let terms = self.terms(spot.object);
        // Four bytes are loaded twice; the second load counts.
        self.line(spot).read(terms, route, spot.word, None);
        self.line(spot).read(terms, route, spot.word, seen)
    }

    fn write(&mut self, spot: Spot, route: Route, values: &BTreeSet<u32>) {
        let terms = self.terms(spot.object);
        self.line(spot).write(terms, route, spot.word, values);
    }

    /// Four bytes are stored twice.
    fn store(&mut self, spot: Spot, route: Route, value: u32) {
        for _ in 0..2 {
            match route {
                Route::CpuUncached | Route::Aperture => {
                    let terms = self.terms(spot.object);
                    self.line(spot).combine(terms, route, spot.word, value);
                }
                Route::CpuCached | Route::CpuNonTemporal | Route::Gpu(_) | Route::Display => {
                    self.write(spot, route, &BTreeSet::from([value]));
                }
            }
        }
    }

    fn drain(&mut self, object: usize, route: Option<Route>) {
        let terms = self.terms(object);
        for line in &mut self.objects[object].lines {
            line.drain(terms, route);
        }
    }

    /// Flushes a spot's line around a copy. The fence before it need not reach the chipset.
    fn flush_if(&mut self, needed: bool, spot: Spot) {
        if needed {
            let terms = self.terms(spot.object);
            self.line(spot).drain(terms, Some(Route::CpuUncached));
            self.line(spot).flush(terms);
        }
    }

    fn gpu_read(&mut self, spot: Spot, mocs: MocsClass, seen: Option<u32>) -> Result<Expected, Errno> {
        self.happen(spot.object, Event::Exec(Access::Read))?;
        Ok(Expected::Reads(self.read(spot, Route::Gpu(mocs), seen)))
    }

    /// PWRITE of `value` to some spots of one line.
    fn pwrite(&mut self, spots: &[Spot], partial: bool, value: u32) -> Result<(), Errno> {
        let Some(&first) = spots.first() else { return Ok(()) };
        let around = self.happen(first.object, Event::Pwrite { partial, awake: true })?;
        let is_aperture = self.objects[first.object].snapshot.write_domain == Domains::GTT;
        self.flush_if(around.before, first);
        for &spot in spots {
            let route = if is_aperture { Route::Aperture } else { Route::CpuCached };
            self.write(spot, route, &BTreeSet::from([value]));
        }
        self.flush_if(around.after, first);
        Ok(())
    }

    /// An event of the kernel, with its flushes; those around a copy are returned.
    fn happen(&mut self, object: usize, event: Event) -> Result<Around, Errno> {
        let done = step(self.hardware.caps, &self.rules, self.objects[object].snapshot, event)
            .map_err(|refusal| refusal.errno.unwrap_or(Errno::EIO))?;
        let mut around = Around::default();
        for effect in done.effects.iter() {
            match effect.action {
                Action::FlushSync | Action::FlushAsync => {
                    self.drain(object, None);
                    self.flush_all(object);
                }
                Action::Wbinvd => (0..OBJECTS).for_each(|object| self.flush_all(object)),
                Action::FlushBefore => around.before = true,
                Action::FlushAfter => around.after = true,
                Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => {
                    self.drain(object, None);
                }
            }
        }
        self.objects[object].snapshot = done.next;
        Ok(around)
    }

    fn flush_all(&mut self, object: usize) {
        let terms = self.terms(object);
        for line in &mut self.objects[object].lines {
            line.flush(terms);
        }
    }
}

/// The GPU's accesses by the page table.
const GPU: Route = Route::Gpu(MocsClass::PageTable);

/// The route of a mapping's accesses.
fn route(mode: MmapMode) -> Route {
    match mode {
        MmapMode::Wb | MmapMode::Fixed => Route::CpuCached,
        MmapMode::Wc | MmapMode::Uc => Route::CpuUncached,
        MmapMode::Gtt => Route::Aperture,
    }
}
