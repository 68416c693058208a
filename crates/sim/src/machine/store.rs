//! An object's two byte stores, what the CPU sees through its caches and what memory holds, and the accesses
//! that move bytes between them.

use std::collections::VecDeque;

use super::adversary::Adversary;
use super::lines::{Lines, Run};
use gem_coherency::cacheops::LineOp;
use gem_coherency::drm::mapping::SharedBytes;
use gem_coherency::error::Result;
use gem_coherency::platform::Caps;
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::{Access, CacheLevel};
use gem_coherency_hierarchy::{self as hierarchy, CacheMove, Hardware, Line, Place, Route, Transfer};

/// The previous owner's data, repeated, which memory holds until the object's own bytes reach it.
pub const PREVIOUS_OWNER: [u8; 16] = *b"another's secret";

/// Number of write-combining buffers: a Skylake has ten fill buffers.
const COMBINING_BUFFERS: usize = 10;

/// The hardware and the level that determine how an object is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) hardware: Hardware,
    pub(crate) level: CacheLevel,
    /// Every agent sees every byte at once, so that all of them use the cached bytes.
    pub(crate) coherent: bool,
}

impl Terms {
    /// The terms of CPU accesses to memory that belongs to no device.
    pub(crate) const ORDINARY: Self =
        Self { hardware: Hardware::new(Caps::empty()), level: CacheLevel::None, coherent: false };

    /// Returns the route that an access on `route` actually takes.
    pub(crate) fn route(self, route: Route) -> Route {
        if self.coherent { Route::CpuCached } else { route }
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
struct Combining {
    route: Route,
    line: u64,
    /// The stores' offsets and bytes, in program order.
    stores: Vec<(u64, Vec<u8>)>,
}

/// Both byte stores of an object.
#[derive(Debug)]
pub(crate) struct Store {
    pub(super) size: u64,
    zeroing: Zeroing,
    /// The contents of cached lines; zeroes for fresh pages.
    pub(super) cached: Option<SharedBytes>,
    /// The contents of memory in pages that hold bytes of this object.
    pub(super) memory: Option<SharedBytes>,
    pub(crate) lines: Lines,
    pub(crate) raw: super::raw::Raw,
    combining: VecDeque<Combining>,
    adversary: Option<Adversary>,
}

impl Store {
    /// Creates the store of a fresh object of `size` bytes, a whole number of pages.
    pub(crate) fn new(size: u64, zeroing: Zeroing, adversary: Option<Adversary>) -> Self {
        Self {
            size,
            zeroing,
            cached: None,
            memory: None,
            lines: zeroing.lines(size / PAGE_BYTES),
            raw: super::raw::Raw::default(),
            combining: VecDeque::new(),
            adversary,
        }
    }

    /// The bytes that the CPU sees through its caches.
    pub(crate) fn cached(&mut self) -> Result<&SharedBytes> {
        bytes(&mut self.cached, self.size)
    }

    /// The bytes in memory.
    pub(crate) fn memory(&mut self) -> Result<&SharedBytes> {
        bytes(&mut self.memory, self.size)
    }

    /// Reads on `route`.
    pub(crate) fn read(&mut self, terms: Terms, route: Route, offset: u64, data: &mut [u8]) -> Result<()> {
        let route = terms.route(route);
        let range = self.begin(terms, offset, data.len() as u64)?;
        self.drain_route(terms, route)?;
        let mut lines = range.lines();
        while let Some(run) = self.lines.run(lines) {
            let part = overlap(run, range);
            let into = data.get_mut((part.start - offset) as usize..(part.end - offset) as usize);
            if let (Some(effect), Some(into)) =
                (hierarchy::effect(terms.hardware, terms.level, route, Access::Read, run.line), into)
            {
                self.transfer(run, effect.before)?;
                match effect.at {
                    Place::Cache => self.cached()?.copy_out(part.start, into)?,
                    Place::Memory => {
                        self.own(run.page)?;
                        self.memory()?.copy_out(part.start, into)?;
                    }
                }
                self.lines.set(run, effect.next);
            }
            lines = Lines::behind(lines, run);
        }
        self.end()
    }

    /// Writes on `route`, without write combining.
    pub(crate) fn write(&mut self, terms: Terms, route: Route, offset: u64, data: &[u8]) -> Result<()> {
        let route = terms.route(route);
        self.begin(terms, offset, data.len() as u64)?;
        self.drain_route(terms, route)?;
        self.put(terms, route, offset, data)?;
        self.end()
    }

    /// Writes on `route` through the write-combining buffers, where the last lines stay.
    pub(crate) fn combine(&mut self, terms: Terms, route: Route, offset: u64, data: &[u8]) -> Result<()> {
        if terms.coherent {
            return self.write(terms, route, offset, data);
        }
        self.begin(terms, offset, data.len() as u64)?;
        let most = COMBINING_BUFFERS * LINE_BYTES as usize;
        let (through, rest) = data.split_at(data.len().saturating_sub(most));
        if !through.is_empty() {
            self.drain(terms)?;
            self.put(terms, route, offset, through)?;
        }
        let mut offset = offset + through.len() as u64;
        let mut rest = rest;
        while !rest.is_empty() {
            let to_line_end = (LINE_BYTES - offset % LINE_BYTES) as usize;
            let (piece, behind) = rest.split_at(to_line_end.min(rest.len()));
            self.buffer(terms, route, offset, piece)?;
            offset += piece.len() as u64;
            rest = behind;
        }
        self.end()
    }

    /// Adds a store within one line to the buffer of its line and route.
    fn buffer(&mut self, terms: Terms, route: Route, offset: u64, data: &[u8]) -> Result<()> {
        let line = offset / LINE_BYTES;
        let store = (offset, data.to_vec());
        match self.combining.iter_mut().find(|buffer| buffer.route == route && buffer.line == line) {
            Some(buffer) => buffer.stores.push(store),
            None => {
                if self.combining.len() >= COMBINING_BUFFERS
                    && let Some(oldest) = self.combining.pop_front()
                {
                    self.empty(terms, oldest)?;
                }
                self.combining.push_back(Combining { route, line, stores: vec![store] });
            }
        }
        Ok(())
    }

    /// Drains the write-combining buffers, as a fence does; newest first, because buffers have no guaranteed
    /// order.
    pub(crate) fn drain(&mut self, terms: Terms) -> Result<()> {
        while let Some(newest) = self.combining.pop_back() {
            self.empty(terms, newest)?;
        }
        Ok(())
    }

    /// Drains the buffers of `route`, as an uncached access on it does, and a load from write-combining
    /// memory. Bytes written through the aperture may still be held in the chipset.
    pub(crate) fn drain_route(&mut self, terms: Terms, route: Route) -> Result<()> {
        let (same, others) = self.combining.drain(..).partition(|buffer| buffer.route == route);
        self.combining = others;
        let same: VecDeque<_> = same;
        same.into_iter().try_for_each(|buffer| self.empty(terms, buffer))
    }

    fn empty(&mut self, terms: Terms, buffer: Combining) -> Result<()> {
        buffer.stores.iter().try_for_each(|(offset, data)| self.put(terms, buffer.route, *offset, data))
    }

    /// Performs `op` on `lines`; returns how many were written back.
    pub(crate) fn maintain(&mut self, terms: Terms, lines: LineRange, op: LineOp) -> Result<u64> {
        self.begin(terms, lines.first() * LINE_BYTES, lines.bytes())?;
        let written = self.maintain_lines(lines, op)?;
        self.end()?;
        Ok(written)
    }

    /// Flushes every line, like `drm_clflush_sg` with its fences; returns how many were written back.
    pub(crate) fn flush_all(&mut self, terms: Terms) -> Result<u64> {
        self.begin(terms, 0, 0)?;
        self.drain(terms)?;
        let mut written = self.lines.flush_untouched();
        for page in self.lines.touched() {
            let lines = LineRange::new(page * PAGE_LINES, (page + 1) * PAGE_LINES);
            written += self.maintain_lines(lines, LineOp::Flush)?;
        }
        self.end()?;
        Ok(written)
    }

    /// Moves the bytes to other pages, as swapping out and in does where the CPU compresses what it reads:
    /// cached copies are saved, clean or dirty, and no cache holds a line of the new pages.
    pub(crate) fn swap(&mut self, terms: Terms) -> Result<()> {
        self.begin(terms, 0, 0)?;
        for page in self.lines.touched() {
            let mut left = LineRange::new(page * PAGE_LINES, (page + 1) * PAGE_LINES);
            while let Some(run) = self.lines.run(left) {
                if run.line != Line::Absent {
                    self.transfer(run, Transfer::WriteBack)?;
                    self.lines.set(run, Line::Absent);
                }
                left = Lines::behind(left, run);
            }
        }
        self.end()
    }

    /// Discards the contents.
    pub(crate) fn discard(&mut self) {
        self.lines = self.zeroing.lines(self.lines.pages());
        self.combining.clear();
        // Pages that a raw pointer refers to stay mapped as long as the object exists.
        if !self.raw.is_out() {
            self.cached = None;
            self.memory = None;
        }
    }

    /// Begins an access: finds stores through raw pointers and lets the adversary act.
    fn begin(&mut self, terms: Terms, offset: u64, len: u64) -> Result<ByteRange> {
        let range = ByteRange::within(offset, len, self.size)?;
        self.find_raw_stores()?;
        if let Some(mut adversary) = self.adversary.take() {
            let acted = self.act(terms, &mut adversary);
            self.adversary = Some(adversary);
            acted?;
        }
        Ok(range)
    }

    /// Ends an access.
    fn end(&mut self) -> Result<()> {
        self.refill_for_raw_loads()
    }

    fn put(&mut self, terms: Terms, route: Route, offset: u64, data: &[u8]) -> Result<()> {
        let range = ByteRange::within(offset, data.len() as u64, self.size)?;
        let mut lines = range.lines();
        while let Some(run) = self.lines.run(lines) {
            let part = overlap(run, range);
            let from = data.get((part.start - offset) as usize..(part.end - offset) as usize);
            if let (Some(effect), Some(from)) =
                (hierarchy::effect(terms.hardware, terms.level, route, Access::Write, run.line), from)
            {
                self.transfer(run, effect.before)?;
                match effect.at {
                    Place::Cache => self.cached()?.copy_in(part.start, from)?,
                    Place::Memory => {
                        self.own(run.page)?;
                        if effect.next == Line::Clean {
                            self.keep_fill(run.page)?;
                        }
                        self.memory()?.copy_in(part.start, from)?;
                    }
                }
                self.lines.set(run, effect.next);
            }
            lines = Lines::behind(lines, run);
        }
        Ok(())
    }

    fn maintain_lines(&mut self, lines: LineRange, op: LineOp) -> Result<u64> {
        let mut written = 0;
        let mut left = lines;
        while let Some(run) = self.lines.run(left) {
            let done = hierarchy::maintain(op, run.line);
            if done.transfer == Transfer::WriteBack {
                written += run.lines();
            }
            self.transfer(run, done.transfer)?;
            self.lines.set(run, done.next);
            left = Lines::behind(left, run);
        }
        Ok(written)
    }

    /// Transfers whole lines between the two stores.
    pub(crate) fn transfer(&mut self, run: Run, transfer: Transfer) -> Result<()> {
        match transfer {
            Transfer::Nothing => return Ok(()),
            // Zeroes need no memory of their own.
            Transfer::Fill | Transfer::WriteBack if self.lines.holds_zeroes(run.page) => return Ok(()),
            Transfer::Fill => {
                self.own(run.page)?;
                self.memory()?;
                self.cached()?;
                if let (Some(cached), Some(memory)) = (&self.cached, &self.memory) {
                    cached.copy_from(memory, run.offset(), run.bytes())?;
                }
            }
            Transfer::WriteBack => {
                self.own(run.page)?;
                self.memory()?;
                self.cached()?;
                if let (Some(cached), Some(memory)) = (&self.cached, &self.memory) {
                    memory.copy_from(cached, run.offset(), run.bytes())?;
                }
            }
        }
        self.refresh_fill(run)
    }

    /// Makes the page's memory hold this object's bytes; until now it held the previous owner's.
    pub(crate) fn own(&mut self, page: u64) -> Result<()> {
        if self.lines.touch(page).owned {
            return Ok(());
        }
        let secret = PREVIOUS_OWNER.repeat(PAGE_BYTES as usize / PREVIOUS_OWNER.len());
        self.memory()?.copy_in(page * PAGE_BYTES, &secret)?;
        self.lines.touch(page).owned = true;
        Ok(())
    }

    /// Lets the adversary make its spontaneous transfers.
    fn act(&mut self, terms: Terms, adversary: &mut Adversary) -> Result<()> {
        for attempt in adversary.attempts(self.lines.pages()) {
            let mut left = attempt.lines;
            while let Some(run) = self.lines.run(left) {
                if let Some(done) = attempt.cache_move.on(terms.hardware, run.line) {
                    tracing::trace!(
                        cache_move = CacheMove::name(attempt.cache_move),
                        page = run.page,
                        lines = run.lines()
                    );
                    self.transfer(run, done.transfer)?;
                    self.lines.set(run, done.next);
                }
                left = Lines::behind(left, run);
            }
        }
        if adversary.drains() { self.drain(terms) } else { Ok(()) }
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
