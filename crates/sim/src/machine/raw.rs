//! Loads and stores through raw pointers, or by another process, which the simulation cannot intercept.
//!
//! Stores are detected by comparison: a clean cached line must equal the bytes it was filled with; if it does
//! not, there was a store. Loads cannot be detected. While a raw pointer to the cached bytes exists, every
//! line therefore counts as cached: other agents' writes to memory stay invisible until the line is
//! invalidated.

use std::os::fd::OwnedFd;

use super::lines::{Lines, Run};
use super::store::{Store, Terms};
use crate::machine::refuse::refuse;
use gem_coherency::Errno;
use gem_coherency::drm::mapping::SharedBytes;
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Caps;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency_hierarchy::{Line, Place, Route, Transfer};

/// The kinds of an object's bytes to which raw pointers were handed out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw {
    /// The cached bytes, for a WB mapping.
    cached: bool,
    /// The cached bytes, for a WC, UC or GTT mapping on an LLC part, which shows the same bytes.
    alias: bool,
    /// Memory.
    memory: bool,
    /// The addresses of this process's bytes were handed out.
    address: bool,
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
        self.raw.address = true;
        Ok(match self.show(terms, route)? {
            Place::Cache => self.cached()?.as_ptr(),
            Place::Memory => self.memory()?.as_ptr(),
        })
    }

    /// Returns a file of the bytes that a mapping on `route` shows, for another process.
    ///
    /// # Errors
    /// EBUSY if a raw pointer of this process refers to bytes that are in no file; those of creating the file.
    pub(crate) fn memory_file(&mut self, terms: Terms, route: Route) -> Result<OwnedFd> {
        let shown = self.show(terms, route)?;
        let slot = match shown {
            Place::Cache => &mut self.cached,
            Place::Memory => &mut self.memory,
        };
        let file = match slot.as_ref().and_then(SharedBytes::file) {
            Some(file) => file.try_clone_to_owned(),
            None if self.raw.address => return refuse("memory file", Errno::EBUSY),
            None => {
                let bytes = SharedBytes::in_file(self.size)?;
                if let Some(old) = slot {
                    bytes.copy_from(old, 0, self.size)?;
                }
                let bytes = slot.insert(bytes);
                bytes
                    .file()
                    .map_or_else(|| Err(std::io::Error::other("no file")), |file| file.try_clone_to_owned())
            }
        };
        file.map_err(|error| Error::Ioctl {
            request: "dup",
            errno: error.raw_os_error().map_or(Errno::EMFILE, Errno::new),
        })
    }

    /// Makes the bytes that a mapping on `route` shows fit for loads and stores that cannot be intercepted; returns
    /// which of the two stores they are.
    fn show(&mut self, terms: Terms, route: Route) -> Result<Place> {
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
        Ok(if self.raw.memory && route != Route::CpuCached { Place::Memory } else { Place::Cache })
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
