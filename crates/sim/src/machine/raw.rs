//! Loads and stores through raw pointers, which the simulation cannot intercept.
//!
//! Stores are detected by comparison: a clean cached line must equal the bytes it was filled with; if it does
//! not, there was a store. Loads cannot be detected. While a raw pointer to the cached bytes exists, every
//! line therefore counts as cached: other agents' writes to memory stay invisible until the line is
//! invalidated.

use super::lines::{Lines, Run};
use super::store::{Store, Terms};
use gem_coherency::error::Result;
use gem_coherency::platform::Caps;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency_hierarchy::{Line, Route, Transfer};

/// The kinds of an object's bytes to which raw pointers were handed out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw {
    /// The cached bytes, for a WB mapping.
    cached: bool,
    /// The cached bytes, for a WC, UC or GTT mapping on an LLC part, which shows the same bytes.
    alias: bool,
    /// Memory.
    memory: bool,
}

impl Raw {
    /// Returns whether any raw pointer was handed out.
    pub(crate) fn is_out(self) -> bool {
        self.cached || self.alias || self.memory
    }

    /// Returns whether the cached bytes may change undetected.
    fn reaches_cache(self) -> bool {
        self.cached || self.alias
    }
}

impl Store {
    /// Returns the address of the bytes that a mapping on `route` shows.
    pub(crate) fn raw_pointer(&mut self, terms: Terms, route: Route) -> Result<*mut u8> {
        let route = terms.route(route);
        self.find_raw_stores()?;
        let shares_cache = terms.hardware.caps.contains(Caps::LLC);
        match route {
            Route::CpuCached | Route::CpuNonTemporal => self.raw.cached = true,
            Route::CpuUncached | Route::Aperture | Route::Gpu(_) | Route::Display if shares_cache => {
                self.raw.alias = true;
            }
            Route::CpuUncached | Route::Aperture | Route::Gpu(_) | Route::Display => self.raw.memory = true,
        }
        for page in 0..self.lines.pages() {
            self.own_if_named(page)?;
        }
        self.drain(terms)?;
        self.refill_for_raw_loads()?;
        if self.raw.cached && self.raw.memory {
            // Either store may now change undetected, so neither is evidence of changes in the other.
            for page in 0..self.lines.pages() {
                self.keep_fill(page)?;
            }
        }
        if self.raw.memory && route != Route::CpuCached {
            return Ok(self.memory()?.as_ptr());
        }
        Ok(self.cached()?.as_ptr())
    }

    /// Gives the page memory of its own if a raw pointer refers to memory.
    fn own_if_named(&mut self, page: u64) -> Result<()> {
        if self.raw.memory { self.own(page) } else { Ok(()) }
    }

    /// Finds the lines that were stored to through a raw pointer.
    pub(crate) fn find_raw_stores(&mut self) -> Result<()> {
        if !self.raw.reaches_cache() {
            return Ok(());
        }
        for page in self.lines.touched() {
            let mut now = [0; PAGE_BYTES as usize];
            let mut before = [0; PAGE_BYTES as usize];
            self.cached()?.copy_out(page * PAGE_BYTES, &mut now)?;
            match &self.lines.touch(page).fill {
                Some(fill) => before.copy_from_slice(&fill[..]),
                None => self.memory()?.copy_out(page * PAGE_BYTES, &mut before)?,
            }
            let line_bytes = LINE_BYTES as usize;
            let pairs = now.chunks_exact(line_bytes).zip(before.chunks_exact(line_bytes));
            for (line, (now, before)) in (0..).zip(pairs) {
                if now != before && self.lines.is_clean(page, line) {
                    self.raw_store_found(page, line)?;
                }
            }
        }
        Ok(())
    }

    fn raw_store_found(&mut self, page: u64, line: u64) -> Result<()> {
        let at = page * PAGE_LINES + line;
        let Some(run) = self.lines.run(LineRange::new(at, at + 1)) else { return Ok(()) };
        tracing::trace!(page, line, "store through a raw pointer");
        if self.raw.cached {
            self.lines.set(run, Line::Dirty);
            return Ok(());
        }
        // Only raw pointers of uncached mappings exist, and they write memory.
        self.transfer(run, Transfer::WriteBack)
    }

    /// Refills every absent line while raw loads can see the cached bytes.
    pub(crate) fn refill_for_raw_loads(&mut self) -> Result<()> {
        if !self.raw.reaches_cache() {
            return Ok(());
        }
        let mut left = LineRange::new(0, self.lines.pages() * PAGE_LINES);
        while let Some(run) = self.lines.run(left) {
            if run.line == Line::Absent {
                self.transfer(run, Transfer::Fill)?;
                self.lines.set(run, Line::Clean);
            }
            self.lines.touch(run.page);
            left = Lines::behind(left, run);
        }
        Ok(())
    }

    /// Saves the bytes that the page's lines were filled with, before memory changes.
    pub(crate) fn keep_fill(&mut self, page: u64) -> Result<()> {
        if !self.raw.cached || self.lines.touch(page).fill.is_some() {
            return Ok(());
        }
        let mut fill = Box::new([0; PAGE_BYTES as usize]);
        self.cached()?.copy_out(page * PAGE_BYTES, &mut fill[..])?;
        self.lines.touch(page).fill = Some(fill);
        Ok(())
    }

    /// Updates the saved bytes of lines that were transferred whole.
    pub(crate) fn refresh_fill(&mut self, run: Run) -> Result<()> {
        let Some(mut fill) = self.lines.touch(run.page).fill.take() else { return Ok(()) };
        let bytes = |line: u64| (line * LINE_BYTES) as usize;
        if let Some(part) = fill.get_mut(bytes(run.in_page().start)..bytes(run.in_page().end)) {
            self.cached()?.copy_out(run.offset(), part)?;
        }
        self.lines.touch(run.page).fill = Some(fill);
        Ok(())
    }
}
