//! Bytes that are loaded and stored without calls: through raw pointers, or in mappings of other processes.
//!
//! The bytes of a shared object are there three times, as files of equal size:
//!
//! - `cached`: the bytes that the CPU sees through its caches;
//! - `memory`: the bytes that memory holds;
//! - `filled`: the bytes that each cached line had when it was last filled or written back.
//!
//! The state of a line follows from its bytes. It is dirty if `cached` and `filled` differ. A line that is not dirty
//! counts as cached if a mapping shows the cached bytes, because nothing detects the load that fills it; it is stale if `filled` and `memory` differ.
//! Untouched bytes are holes in all three files; operations on whole objects skip them.
//!
//! A client that maps the three files flushes their lines itself ([`Views`](super::views::Views)).
//!
//! Two things cannot be seen. A store of the bytes that the line already has (a silent store) leaves it clean; a
//! later fill may then replace them. And where mappings of both kinds show the same bytes (WB, and WC where such a store
//! evicts the line), a WC store cannot be told from a WB store, nor a WC load from a WB load: the line counts as dirty, or stays stale.
//! Without a WB mapping, they count as WC stores and WC loads.

use std::os::fd::{AsFd, OwnedFd};

use super::backing_store::{AccessContext, BackingStore, PREVIOUS_OWNER};
use super::filled::{Aliases, Shared};
use super::lines::{Lines, Run};
use crate::refuse::refuse;
use gem_coherency::Errno;
use gem_coherency::backend::mapping::SharedBytes;
use gem_coherency::error::{Error, Result};
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::Access;
use gem_coherency_memory_model::{Line, Place, Route, Transfer, effect};
use nix::unistd::{Whence, lseek64};

/// A page of zeroes.
static ZEROES: [u8; PAGE_BYTES as usize] = [0; PAGE_BYTES as usize];

impl BackingStore {
    /// Returns the address of the bytes that a mapping on `route` shows.
    pub(crate) fn raw_pointer(&mut self, ctx: AccessContext<'_>, route: Route) -> Result<*mut u8> {
        Ok(match self.share(ctx, route, SharedBytes::zeroed)? {
            Place::Cache => self.cached()?.as_ptr(),
            Place::Memory => self.memory()?.as_ptr(),
        })
    }

    /// Returns files of the cached bytes, of memory and of the filled bytes, and which of them a mapping on `route`
    /// shows.
    ///
    /// # Errors
    /// EBUSY if a raw pointer of this process refers to bytes that are in no file; those of creating the files.
    pub(crate) fn views(&mut self, ctx: AccessContext<'_>, route: Route) -> Result<([OwnedFd; 3], Place)> {
        let shows = self.share(ctx, route, SharedBytes::in_file)?;
        let file = |bytes: Option<&SharedBytes>| match bytes.and_then(SharedBytes::file) {
            None => refuse("views", Errno::EBUSY),
            Some(file) => file.try_clone_to_owned().map_err(|error| Error::Ioctl {
                request: "dup",
                errno: error.raw_os_error().map_or(Errno::EMFILE, Errno::new),
            }),
        };
        let filled = self.shared.as_ref().map(|shared| &shared.filled);
        Ok(([file(self.cached.as_ref())?, file(self.memory.as_ref())?, file(filled)?], shows))
    }

    /// Makes the bytes fit for loads and stores that are not detected, in files that `make` creates unless they are
    /// already; returns those that a mapping on `route` shows.
    fn share(
        &mut self,
        ctx: AccessContext<'_>,
        route: Route,
        make: impl Fn(u64) -> Result<SharedBytes>,
    ) -> Result<Place> {
        let write_back = match ctx.route(route) {
            Route::CpuCached | Route::CpuNonTemporal => true,
            Route::CpuUncached | Route::Aperture | Route::Gpu(_) | Route::Display => false,
        };
        self.absorb()?;
        self.drain(ctx)?;
        if self.shared.is_none() {
            self.begin_to_share(write_back, make)?;
        }
        if write_back && self.shared.as_ref().is_some_and(|shared| !shared.write_back) {
            // From now on WC stores look like WB stores: this sends the earlier ones to memory. Lines count as cached, and
            // those that were not are filled.
            let mut left = self.lines.all();
            while let Some(part) = self.next_data(left)? {
                let mut lines = part;
                while let Some(run) = self.run(lines)? {
                    if run.line == Line::Absent {
                        self.transfer(run, Transfer::Fill)?;
                    }
                    lines = Lines::after(lines, run);
                }
                left = LineRange::new(part.end(), left.end());
            }
        }
        // A store that evicts the line counts as one to the cache, which the next access writes back.
        let evicts = effect(ctx.hardware, ctx.level, ctx.route(route), Access::Write, Line::Dirty)
            .is_some_and(|effect| effect.before == Transfer::WriteBack);
        let evicts = evicts || ctx.moves && !write_back;
        // Where no mapping goes through the cache, a line is dirty only by what the kernel did before.
        let evicts = evicts && !(ctx.is_uncached && self.are_clean()?);
        let shows_cache = write_back || evicts;
        if let Some(shared) = &mut self.shared {
            shared.write_back |= write_back;
            shared.shows_cache |= shows_cache;
            shared.evicts |= evicts && !write_back;
            shared.shows_memory |= !shows_cache;
            shared.aliases.add(ctx.route(route), shows_cache);
        }
        if let Some(trace) = ctx.trace {
            trace.observer.map(trace, self, route)?;
        }
        Ok(if shows_cache { Place::Cache } else { Place::Memory })
    }

    /// Returns whether no line is dirty.
    fn are_clean(&mut self) -> Result<bool> {
        let mut left = self.lines.all();
        while let Some(part) = self.next_data(left)? {
            let mut lines = part;
            while let Some(run) = self.run(lines)? {
                if run.line == Line::Dirty {
                    return Ok(false);
                }
                lines = Lines::after(lines, run);
            }
            left = LineRange::new(part.end(), left.end());
        }
        Ok(true)
    }

    /// Moves the bytes to three new files that `make` creates.
    fn begin_to_share(&mut self, write_back: bool, make: impl Fn(u64) -> Result<SharedBytes>) -> Result<()> {
        let mut dirty = Lines::cleared(self.lines.pages());
        let (cached, memory, filled) = (make(self.size)?, make(self.size)?, make(self.size)?);
        let copy = |to: &SharedBytes, run: Run, bytes: &[u8]| {
            // Zeroes would take memory in a new file.
            if ZEROES.starts_with(bytes) { Ok(()) } else { to.copy_in(run.offset(), bytes) }
        };
        let mut left = self.lines.all();
        while let Some(part) = self.next_written(left)? {
            let mut lines = part;
            while let Some(run) = self.lines.run(lines) {
                let in_cache = self.peek(Place::Cache, run)?;
                let in_memory = self.peek(Place::Memory, run)?;
                let (now, before) = match run.line {
                    Line::Dirty => (&in_cache, &in_memory),
                    Line::Clean => (&in_cache, &in_cache),
                    Line::Absent => (&in_memory, &in_memory),
                };
                copy(&cached, run, now)?;
                copy(&memory, run, &in_memory)?;
                copy(&filled, run, before)?;
                if run.line == Line::Dirty && !write_back {
                    dirty.set(run, run.line);
                }
                lines = Lines::after(lines, run);
            }
            left = LineRange::new(part.end(), left.end());
        }
        self.lines = dirty;
        (self.cached, self.memory) = (Some(cached), Some(memory));
        self.shared = Some(Shared {
            filled,
            write_back,
            shows_cache: write_back,
            evicts: false,
            shows_memory: false,
            aliases: Aliases::default(),
        });
        Ok(())
    }

    /// Returns the leading lines of `range` that are in one state and in one page; `None` if it is empty.
    pub(crate) fn run(&mut self, range: LineRange) -> Result<Option<Run>> {
        let Some(run) = self.lines.run(range) else { return Ok(None) };
        let (Some(shared), Some(cached)) = (&self.shared, &self.cached) else { return Ok(Some(run)) };
        let is_dirty = |line: u64| {
            let (mut now, mut before) = ([0; LINE_BYTES as usize], [0; LINE_BYTES as usize]);
            cached.copy_out(run.offset() + line * LINE_BYTES, &mut now)?;
            shared.filled.copy_out(run.offset() + line * LINE_BYTES, &mut before)?;
            Ok::<_, Error>(now != before)
        };
        let dirty = is_dirty(0)?;
        let mut lines = 1;
        while lines < run.lines() && is_dirty(lines)? == dirty {
            lines += 1;
        }
        if dirty && !shared.write_back && run.line != Line::Dirty {
            // Only mappings around the cache exist, and no agent of the device dirtied the line.
            let run = run.leading(lines, Line::Clean);
            self.transfer(run, Transfer::WriteBack)?;
            return Ok(Some(run));
        }
        let line = if dirty { Line::Dirty } else { shared.clean(run.line) };
        Ok(Some(run.leading(lines, line)))
    }

    /// Sets the state of a run's lines. Where loads are not detected, a dropped line is filled at once.
    pub(crate) fn set(&mut self, run: Run, next: Line) -> Result<()> {
        self.lines.set(run, next);
        match next {
            Line::Absent if self.shared.is_some() => self.transfer(run, Transfer::Fill),
            Line::Absent | Line::Clean | Line::Dirty => Ok(()),
        }
    }

    /// Transfers whole lines between the cached bytes and memory's.
    pub(crate) fn transfer(&mut self, run: Run, transfer: Transfer) -> Result<()> {
        let from = match transfer {
            Transfer::Nothing => return Ok(()),
            Transfer::Fill => Place::Memory,
            Transfer::WriteBack => Place::Cache,
        };
        if self.shared.is_none() && self.lines.holds_zeroes(run.page) {
            // Zeroes need no memory of their own.
            return Ok(());
        }
        self.own(run.page)?;
        if self.shared.is_some() {
            return self.transfer_shared(run, from);
        }
        self.cached()?;
        self.memory()?;
        match (&self.cached, &self.memory, from) {
            (Some(cached), Some(memory), Place::Cache) => memory.copy_from(cached, run.offset(), run.bytes()),
            (Some(cached), Some(memory), Place::Memory) => {
                cached.copy_from(memory, run.offset(), run.bytes())
            }
            (None, _, _) | (_, None, _) => Ok(()),
        }
    }

    /// Transfers whole lines of shared bytes, which are read once.
    fn transfer_shared(&mut self, run: Run, from: Place) -> Result<()> {
        let bytes = self.peek(from, run)?;
        match from {
            Place::Memory => self.fill(run, &bytes),
            Place::Cache => {
                self.memory()?.copy_in(run.offset(), &bytes)?;
                self.shared.as_ref().map_or(Ok(()), |shared| shared.filled.copy_in(run.offset(), &bytes))
            }
        }
    }

    /// Fills clean lines of shared bytes with `bytes`, storing only to those that differ.
    fn fill(&mut self, run: Run, bytes: &[u8]) -> Result<()> {
        let (Some(shared), Some(cached)) = (&self.shared, &self.cached) else { return Ok(()) };
        let mut filled = vec![0; bytes.len()];
        shared.filled.copy_out(run.offset(), &mut filled)?;
        if filled == bytes {
            return Ok(());
        }
        let mut at = run.offset();
        let pairs: Vec<(u8, u8)> = bytes.iter().copied().zip(filled).collect();
        for piece in pairs.chunk_by(|one, next| (one.0 == one.1) == (next.0 == next.1)) {
            if piece.first().is_some_and(|(now, before)| now != before) {
                let now: Vec<u8> = piece.iter().map(|&(now, _)| now).collect();
                cached.copy_in(at, &now)?;
            }
            at += piece.len() as u64;
        }
        shared.filled.copy_in(run.offset(), bytes)
    }

    /// Returns the bytes of a run in the cache or in memory, allocating nothing there.
    pub(crate) fn peek(&self, place: Place, run: Run) -> Result<Vec<u8>> {
        let mut bytes = vec![0; run.bytes() as usize];
        let copy = match place {
            Place::Cache => &self.cached,
            Place::Memory if self.lines.is_owned(run.page) => &self.memory,
            Place::Memory => {
                bytes.as_chunks_mut().0.fill(PREVIOUS_OWNER);
                return Ok(bytes);
            }
        };
        if let Some(copy) = copy {
            copy.copy_out(run.offset(), &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Returns the leading part of `range` that may have other bytes in the cache than in memory, as
    /// [`Self::next_data`] does: all of it if untouched pages are zeroes that were never flushed.
    pub(crate) fn next_written(&self, range: LineRange) -> Result<Option<LineRange>> {
        if self.lines.untouched_are_fresh() { Ok(some(range)) } else { self.next_data(range) }
    }

    /// Returns the leading part of `range` that may be other than untouched, in whole pages where it begins or ends
    /// within the range; `None` if there is none.
    ///
    /// # Errors
    /// Those of lseek(2).
    pub(crate) fn next_data(&self, range: LineRange) -> Result<Option<LineRange>> {
        let (Some(shared), Some(cached), Some(memory)) = (&self.shared, &self.cached, &self.memory) else {
            return Ok(self.lines.touched(range));
        };
        next_of(&[cached, memory, &shared.filled], range)
    }

    /// Returns the leading part of `range` to which programs may have stored past the device, as [`Self::next_data`] does. Memory's bytes
    /// are none of it: those of its previous owner fill all of it.
    ///
    /// # Errors
    /// Those of lseek(2).
    pub(crate) fn next_stored(&self, range: LineRange) -> Result<Option<LineRange>> {
        self.cached.as_ref().map_or(Ok(None), |cached| next_of(&[cached], range))
    }

    /// Makes shared bytes zeroes, in every copy.
    pub(crate) fn clear_shared(&mut self) -> Result<()> {
        let mut left = self.lines.all();
        while let Some(part) = self.next_data(left)? {
            if let (Some(shared), Some(cached), Some(memory)) = (&self.shared, &self.cached, &self.memory) {
                for page in part.first() / PAGE_LINES..part.end().div_ceil(PAGE_LINES) {
                    for bytes in [memory, cached, &shared.filled] {
                        bytes.copy_in(page * PAGE_BYTES, &ZEROES)?;
                    }
                }
            }
            left = LineRange::new(part.end(), left.end());
        }
        self.lines = Lines::cleared(self.lines.pages());
        Ok(())
    }
}

/// Returns the leading part of `range` that is no hole of one of the copies.
fn next_of(copies: &[&SharedBytes], range: LineRange) -> Result<Option<LineRange>> {
    if range.is_empty() {
        return Ok(None);
    }
    let mut next: Option<LineRange> = None;
    for bytes in copies {
        // Bytes without a file have no holes that can be found.
        let Some(file) = bytes.file() else { return Ok(some(range)) };
        let seek = |from: u64, whence| match lseek64(file.as_fd(), from as i64, whence) {
            Ok(at) => Ok(Some(at as u64)),
            Err(nix::Error::ENXIO) => Ok(None),
            Err(errno) => Err(Error::Ioctl { request: "lseek", errno: Errno::new(errno as i32) }),
        };
        let Some(start) = seek(range.first() * LINE_BYTES, Whence::SeekData)? else { continue };
        let end = seek(start, Whence::SeekHole)?.unwrap_or(u64::MAX);
        let part = LineRange::new(
            (start / LINE_BYTES).max(range.first()),
            end.div_ceil(LINE_BYTES).min(range.end()),
        );
        if !part.is_empty() && next.is_none_or(|next| part.first() < next.first()) {
            next = Some(part);
        }
    }
    Ok(next)
}

/// Returns `range` unless it is empty.
fn some(range: LineRange) -> Option<LineRange> {
    (!range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::backing_store::Zeroing;

    #[test]
    fn the_first_mapping_of_the_cached_bytes_shows_what_is_in_memory_and_later_ones_what_is_in_the_cache() {
        let load = |backing: &mut BackingStore| {
            let mut byte = [0];
            backing.cached().unwrap().copy_out(8, &mut byte).unwrap();
            byte[0]
        };
        let mut backing = BackingStore::new(PAGE_BYTES, Zeroing::Gpu, None);
        backing.share(AccessContext::ORDINARY, Route::CpuUncached, SharedBytes::in_file).unwrap();
        for (stored, loaded) in [(7, 7), (8, 7)] {
            backing.memory().unwrap().copy_in(8, &[stored]).unwrap();
            backing.share(AccessContext::ORDINARY, Route::CpuCached, SharedBytes::in_file).unwrap();
            assert_eq!(load(&mut backing), loaded);
        }
    }

    #[test]
    fn a_fill_keeps_a_store_to_other_bytes_that_comes_after_the_comparison() {
        let mut backing = BackingStore::new(PAGE_BYTES, Zeroing::Gpu, None);
        backing.share(AccessContext::ORDINARY, Route::CpuCached, SharedBytes::in_file).unwrap();
        let load = |backing: &mut BackingStore, at| {
            let mut byte = [0];
            backing.cached().unwrap().copy_out(at, &mut byte).unwrap();
            byte[0]
        };
        backing.memory().unwrap().copy_in(8, &[7]).unwrap();
        let run = backing.run(LineRange::new(0, 1)).unwrap().unwrap();
        assert_eq!(run.line, Line::Clean);
        backing.cached().unwrap().copy_in(0, &[1]).unwrap();
        backing.transfer(run, Transfer::Fill).unwrap();
        assert_eq!((load(&mut backing, 0), load(&mut backing, 8)), (1, 7));
        let run = backing.run(LineRange::new(0, 1)).unwrap().unwrap();
        assert_eq!(run.line, Line::Dirty);
        backing.transfer(run, Transfer::WriteBack).unwrap();
        assert_eq!(backing.run(LineRange::new(0, 1)).unwrap().map(|run| run.line), Some(Line::Clean));
    }
}
