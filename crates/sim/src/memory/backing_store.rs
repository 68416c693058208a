//! An object's backing store: the bytes that the CPU sees through its caches, those that memory holds, and the
//! accesses that move bytes between them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use super::adversary::Adversary;
use super::detiled;
use super::filled::Shared;
use super::lines::{Lines, Run};
use super::observer::{Observed, RunAccess};
use gem_coherency::backend::mapping::SharedBytes;
use gem_coherency::cacheops::LineOp;
use gem_coherency::error::Result;
use gem_coherency::platform::Caps;
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange, PAGE_BYTES};
use gem_coherency::vocabulary::{Access, CacheLevel, MocsClass};
use gem_coherency_memory_model::{self as memory_model, CacheMove, Hardware, Line, Place, Route, Transfer};

/// The previous owner's data, repeated, which memory holds until the object's own bytes reach it.
pub const PREVIOUS_OWNER: [u8; 16] = *b"another's secret";

/// How the GPU's accesses through a mapping of xe are cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MappingCaching {
    /// Their level, by which the memory model takes them; `None` for the object's.
    pub(crate) level: Option<CacheLevel>,
    /// The PAT index that this follows from.
    pub(crate) pat_index: u16,
}

/// The hardware and the level that determine how an object is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessContext<'a> {
    pub(crate) hardware: Hardware,
    pub(crate) level: CacheLevel,
    /// Every agent sees every byte at once, so that all of them use the cached bytes.
    pub(crate) coherent: bool,
    /// The PAT index of the GPU's mapping that the access goes through, under xe.
    pub(crate) pat_index: Option<u16>,
    /// No mapping of the object goes through the CPU's caches, now or later.
    pub(crate) is_uncached: bool,
    /// The object moves between memory that the CPU maps write-combining and such that it maps write-back: all mappings show the cached bytes, so
    /// that stores during a move reach it.
    pub(crate) moves: bool,
    /// Is told of accesses to lines ([`Observer::access`](super::observer::Observer::access)): the log of incoherent accesses, if the device
    /// is watched.
    pub(crate) watch: Option<Observed<'a>>,
    /// Is told of reads, writes and mappings: the trace, if the device is traced.
    pub(crate) trace: Option<Observed<'a>>,
}

impl AccessContext<'_> {
    /// The context of CPU accesses to memory that belongs to no device.
    pub(crate) const ORDINARY: Self = Self {
        hardware: Hardware::new(Caps::empty()),
        level: CacheLevel::None,
        coherent: false,
        pat_index: None,
        is_uncached: false,
        moves: false,
        watch: None,
        trace: None,
    };

    /// Returns the context of accesses that are neither logged nor traced.
    pub(crate) fn quiet(self) -> AccessContext<'static> {
        AccessContext { watch: None, trace: None, ..self }
    }

    /// Returns the context of the GPU's accesses through a mapping with a caching of its own, if it has one.
    pub(crate) fn through(self, caching: Option<MappingCaching>) -> Self {
        let Some(MappingCaching { level, pat_index }) = caching else { return self };
        Self { level: level.unwrap_or(self.level), pat_index: Some(pat_index), ..self }
    }

    /// Returns the route that an access on `route` actually takes.
    pub(crate) fn route(self, route: Route) -> Route {
        if self.coherent { Route::CpuCached } else { route }
    }

    /// Returns the context for a backing store whose byte at `offset` is the object's at `of_object`; its accesses are not traced.
    pub(crate) fn of_part(self, offset: u64, of_object: u64) -> Self {
        Self { watch: self.watch.map(|watch| watch.of_part(offset, of_object)), trace: None, ..self }
    }

    /// Returns whether the GPU reads dirty lines of the CPU's cache.
    pub(crate) fn gpu_reads_cache(self) -> bool {
        let route = self.route(Route::Gpu(MocsClass::PageTable));
        memory_model::effect(self.hardware, self.level, route, Access::Read, Line::Dirty)
            .is_some_and(|effect| effect.at == Place::Cache || effect.before == Transfer::WriteBack)
    }
}

/// The agent that zeroes an object's pages before userspace sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zeroing {
    /// The kernel, through the CPU's caches.
    Cpu,
    /// The GPU, in local memory.
    Gpu,
}

impl Zeroing {
    fn lines(self, pages: u64) -> Lines {
        match self {
            Self::Cpu => Lines::zeroed(pages),
            Self::Gpu => Lines::cleared(pages),
        }
    }
}

/// A write-combining buffer: stores to one line that have not left the CPU.
#[derive(Debug)]
pub(super) struct Combining {
    pub(super) route: Route,
    pub(super) line: u64,
    /// The stores' offsets and bytes, in program order.
    pub(super) stores: Vec<(u64, Vec<u8>)>,
}

/// The number of the next backing store; objects' numbers are below 1 << 63.
static NUMBERS: AtomicU64 = AtomicU64::new(1 << 63);

/// The bytes of an object, as the CPU's caches and as memory hold them, and the states of its lines.
#[derive(Debug)]
pub(crate) struct BackingStore {
    pub(crate) size: u64,
    number: u64,
    zeroing: Zeroing,
    /// The contents of cached lines; zeroes for fresh pages.
    pub(crate) cached: Option<SharedBytes>,
    /// The contents of memory in pages that hold bytes of this object.
    pub(crate) memory: Option<SharedBytes>,
    pub(crate) lines: Lines,
    /// The third copy, if the bytes change undetected.
    pub(crate) shared: Option<Shared>,
    /// The bytes that were last seen, if the device is traced and the bytes change undetected.
    pub(crate) seen: Option<SharedBytes>,
    /// The address spaces of programs that map it, one for each mapping.
    pub(crate) mapped_in: Vec<u64>,
    pub(super) combining: VecDeque<Combining>,
    pub(crate) detiled: detiled::Views,
    adversary: Option<Adversary>,
}

impl BackingStore {
    /// Creates the backing store of a fresh object of `size` bytes, a whole number of pages.
    pub(crate) fn new(size: u64, zeroing: Zeroing, adversary: Option<Adversary>) -> Self {
        Self {
            size,
            // Relaxed: a unique number; it publishes no other data.
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            zeroing,
            cached: None,
            memory: None,
            lines: zeroing.lines(size / PAGE_BYTES),
            shared: None,
            seen: None,
            mapped_in: Vec::new(),
            combining: VecDeque::new(),
            detiled: detiled::Views::default(),
            adversary,
        }
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// A number of these bytes that is unique in this process and never reused.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes that the CPU sees through its caches.
    pub(crate) fn cached(&mut self) -> Result<&SharedBytes> {
        bytes(&mut self.cached, self.size)
    }

    /// The bytes in memory.
    pub(crate) fn memory(&mut self) -> Result<&SharedBytes> {
        bytes(&mut self.memory, self.size)
    }

    /// Returns the context of accesses to an object that no mapping shows through the CPU's caches: once one shows memory, or if the GPU zeroed the
    /// object and shares no cache with the CPU, no line is cached, and snooping finds none.
    fn of_uncached<'a>(&self, ctx: AccessContext<'a>) -> AccessContext<'a> {
        let shows_memory =
            self.shared.as_ref().is_some_and(|shared| shared.shows_memory && !shared.shows_cache);
        let shares_cache = ctx.hardware.caps.contains(Caps::LLC);
        let is_unmapped = self.shared.is_none() && self.zeroing == Zeroing::Gpu && !shares_cache;
        let level =
            if ctx.is_uncached && (shows_memory || is_unmapped) { CacheLevel::None } else { ctx.level };
        AccessContext { level, ..ctx }
    }

    /// Reads on `route`.
    pub(crate) fn read(
        &mut self,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &mut [u8],
    ) -> Result<()> {
        let range = self.begin(ctx, offset, data.len() as u64)?;
        if let Some(trace) = ctx.trace {
            trace.observer.read(trace, self, ctx, route, range)?;
        }
        let (ctx, route) = (self.of_uncached(ctx), ctx.route(route));
        self.drain_route(ctx, route)?;
        let mut lines = range.lines();
        while let Some(run) = self.run(lines)? {
            let part = overlap(run, range);
            let into = data.get_mut((part.start - offset) as usize..(part.end - offset) as usize);
            if let (Some(effect), Some(into)) =
                (memory_model::effect(ctx.hardware, ctx.level, route, Access::Read, run.line), into)
            {
                if let Some(watch) = ctx.watch {
                    let access = RunAccess { route, effect, run, part: &part, new: None };
                    watch.observer.access(watch, self, ctx.level, access)?;
                }
                self.transfer(run, effect.before)?;
                match effect.at {
                    Place::Cache => self.cached()?.copy_out(part.start, into)?,
                    Place::Memory => {
                        self.own(run.page)?;
                        self.memory()?.copy_out(part.start, into)?;
                    }
                }
                self.set(run, effect.next)?;
            }
            lines = Lines::after(lines, run);
        }
        Ok(())
    }

    /// Reads the bytes that an access on `route` would get, without an effect on the lines.
    pub(crate) fn look(
        &mut self,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &mut [u8],
    ) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.size)?;
        let place = |line| {
            let effect = memory_model::effect(ctx.hardware, ctx.level, ctx.route(route), Access::Read, line);
            effect.map_or(Place::Memory, |effect| match effect.before {
                Transfer::WriteBack => Place::Cache,
                Transfer::Fill => Place::Memory,
                Transfer::Nothing => effect.at,
            })
        };
        if let (Some(shared), Some(cached), Some(memory)) = (&self.shared, &self.cached, &self.memory)
            && [Line::Clean, Line::Absent].iter().all(|&line| place(shared.clean(line)) == place(Line::Dirty))
        {
            // The state of the lines, which takes a comparison of bytes, does not matter.
            return match place(Line::Dirty) {
                Place::Cache => cached.copy_out(offset, data),
                Place::Memory => memory.copy_out(offset, data),
            };
        }
        let mut lines = range.lines();
        while let Some(run) = self.run(lines)? {
            let bytes = self.peek(place(run.line), run)?;
            let part = overlap(run, range);
            let from = bytes.get((part.start - run.offset()) as usize..(part.end - run.offset()) as usize);
            let into = data.get_mut((part.start - offset) as usize..(part.end - offset) as usize);
            if let (Some(from), Some(into)) = (from, into) {
                into.copy_from_slice(from);
            }
            lines = Lines::after(lines, run);
        }
        Ok(())
    }

    /// Writes on `route`, without write combining.
    pub(crate) fn write(
        &mut self,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &[u8],
    ) -> Result<()> {
        self.begin(ctx, offset, data.len() as u64)?;
        if let Some(trace) = ctx.trace {
            trace.observer.write(trace, self, ctx, route, offset, data)?;
        }
        let route = ctx.route(route);
        self.drain_route(ctx, route)?;
        self.put(ctx, route, offset, data)?;
        self.saw(offset, data)
    }

    /// Performs `op` on `lines`; returns how many were written back.
    pub(crate) fn maintain(&mut self, ctx: AccessContext<'_>, lines: LineRange, op: LineOp) -> Result<u64> {
        self.begin(ctx, lines.first() * LINE_BYTES, lines.bytes())?;
        if self.shared.is_some() { self.maintain_data(lines, op) } else { self.maintain_lines(lines, op) }
    }

    /// Flushes every line, like `drm_clflush_sg` with its fences; returns how many were written back.
    pub(crate) fn flush_all(&mut self, ctx: AccessContext<'_>) -> Result<u64> {
        self.begin(ctx, 0, 0)?;
        self.drain(ctx)?;
        Ok(self.lines.flush_untouched() + self.maintain_data(self.lines.all(), LineOp::Flush)?)
    }

    /// Moves the bytes to other pages, as swapping out and in does where the CPU compresses what it reads:
    /// cached copies are saved, clean or dirty, and no cache holds a line of the new pages.
    pub(crate) fn swap(&mut self, ctx: AccessContext<'_>) -> Result<()> {
        self.begin(ctx, 0, 0)?;
        let mut left = self.lines.all();
        while let Some(part) = self.next_data(left)? {
            let mut lines = part;
            while let Some(run) = self.run(lines)? {
                if run.line != Line::Absent {
                    self.transfer(run, Transfer::WriteBack)?;
                    self.set(run, Line::Absent)?;
                }
                lines = Lines::after(lines, run);
            }
            left = LineRange::new(part.end(), left.end());
        }
        Ok(())
    }

    /// Moves the bytes to other pages, whose lines no cache has, by an agent that sees the CPU's caches. Mappings are write-back from now on, or
    /// write-combining.
    pub(crate) fn relocate(&mut self, ctx: AccessContext<'_>, to_write_back: bool) -> Result<()> {
        self.flush_all(ctx)?;
        if let Some(shared) = &mut self.shared {
            shared.write_back = to_write_back || ctx.coherent;
            shared.evicts = !shared.write_back;
        }
        Ok(())
    }

    /// Discards the contents. Shared bytes stay mapped, as zeroes in the cache and in memory.
    pub(crate) fn discard(&mut self) {
        self.combining.clear();
        self.forget_seen();
        if self.shared.is_none() {
            self.lines = self.zeroing.lines(self.lines.pages());
            self.cached = None;
            self.memory = None;
        } else if let Err(error) = self.clear_shared() {
            tracing::error!(%error, "discard");
        }
    }

    /// Begins an access: checks the range, gets what programs stored to linear views, and lets the adversary act.
    pub(crate) fn begin(&mut self, ctx: AccessContext<'_>, offset: u64, len: u64) -> Result<ByteRange> {
        let range = ByteRange::within(offset, len, self.size)?;
        self.absorb()?;
        if let Some(mut adversary) = self.adversary.take() {
            let acted = self.act(ctx, &mut adversary);
            self.adversary = Some(adversary);
            acted?;
        }
        Ok(range)
    }

    /// Writes on `route`, with no other effect.
    pub(crate) fn put(
        &mut self,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &[u8],
    ) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.size)?;
        let ctx = self.of_uncached(ctx);
        let mut lines = range.lines();
        while let Some(run) = self.run(lines)? {
            let part = overlap(run, range);
            let from = data.get((part.start - offset) as usize..(part.end - offset) as usize);
            if let (Some(effect), Some(from)) =
                (memory_model::effect(ctx.hardware, ctx.level, route, Access::Write, run.line), from)
            {
                if let Some(watch) = ctx.watch {
                    let access = RunAccess { route, effect, run, part: &part, new: Some(from) };
                    watch.observer.access(watch, self, ctx.level, access)?;
                }
                self.transfer(run, effect.before)?;
                match effect.at {
                    Place::Cache => self.cached()?.copy_in(part.start, from)?,
                    Place::Memory => {
                        self.own(run.page)?;
                        self.memory()?.copy_in(part.start, from)?;
                    }
                }
                self.set(run, effect.next)?;
            }
            lines = Lines::after(lines, run);
        }
        Ok(())
    }

    /// Performs `op` on the lines of `range` that are not in untouched pages.
    fn maintain_data(&mut self, range: LineRange, op: LineOp) -> Result<u64> {
        let mut written = 0;
        let mut left = range;
        while let Some(part) = self.next_data(left)? {
            written += self.maintain_lines(part, op)?;
            left = LineRange::new(part.end(), left.end());
        }
        Ok(written)
    }

    fn maintain_lines(&mut self, lines: LineRange, op: LineOp) -> Result<u64> {
        let mut written = 0;
        let mut left = lines;
        while let Some(run) = self.run(left)? {
            let done = memory_model::maintain(op, run.line);
            if done.transfer == Transfer::WriteBack {
                written += run.lines();
            }
            self.transfer(run, done.transfer)?;
            self.set(run, done.next)?;
            left = Lines::after(left, run);
        }
        Ok(written)
    }

    /// Makes the page's memory hold this object's bytes; until now it held the previous owner's.
    pub(crate) fn own(&mut self, page: u64) -> Result<()> {
        if self.lines.is_owned(page) {
            return Ok(());
        }
        let secret = PREVIOUS_OWNER.repeat(PAGE_BYTES as usize / PREVIOUS_OWNER.len());
        self.memory()?.copy_in(page * PAGE_BYTES, &secret)?;
        self.lines.touch(page).owned = true;
        Ok(())
    }

    /// Lets the adversary make its spontaneous transfers.
    fn act(&mut self, ctx: AccessContext<'_>, adversary: &mut Adversary) -> Result<()> {
        for attempt in adversary.attempts(self.lines.pages()) {
            let mut left = attempt.lines;
            while let Some(run) = self.run(left)? {
                if let Some(done) = attempt.cache_move.on(ctx.hardware, run.line) {
                    tracing::trace!(
                        cache_move = CacheMove::name(attempt.cache_move),
                        page = run.page,
                        lines = run.lines()
                    );
                    self.transfer(run, done.transfer)?;
                    self.set(run, done.next)?;
                }
                left = Lines::after(left, run);
            }
        }
        if adversary.drains() { self.drain(ctx) } else { Ok(()) }
    }
}

/// Returns the bytes of `slot`, allocating them at first use.
fn bytes(slot: &mut Option<SharedBytes>, size: u64) -> Result<&SharedBytes> {
    Ok(match slot {
        Some(bytes) => bytes,
        None => slot.insert(SharedBytes::zeroed(size)?),
    })
}

/// Returns the part of `range` in the run's lines.
fn overlap(run: Run, range: ByteRange) -> std::ops::Range<u64> {
    let start = run.offset().max(range.offset());
    let end = (run.offset() + run.bytes()).min(range.end());
    start..end.max(start)
}
