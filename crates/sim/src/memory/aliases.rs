//! Objects that programs map both through the CPU's caches and past them.
//!
//! Nothing detects a store past the cache: through the aperture without an LLC, or through a WC mapping. Where it changes memory under a clean line,
//! the line is stale, and a load through the WB mapping misses the store. Such lines are found by comparison, at requests.
//!
//! A CPU with self-snoop (CPUID.1:EDX.SS) looks its own caches up at an access through a WC mapping, and drops the line: the next load gets the
//! store. Here the line is filled at the next request. Accesses through the aperture are the device's, and drop nothing. Of an object that is mapped both ways memory
//! does not tell by which mapping it was changed: on such a CPU it is left alone.

use std::collections::BTreeMap;

use super::backing_store::BackingStore;
use super::filled::Aliases;
use super::lines::Lines;
use gem_coherency::error::Result;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency_memory_model::{Line, Route, Transfer};

const PAGE: usize = PAGE_BYTES as usize;
const LINE: usize = LINE_BYTES as usize;

/// What a CPU does about stores past its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing, so that the lines are stale; the route of the stores.
    MakesStale(Route),
    /// It drops the lines.
    Drops,
}

impl BackingStore {
    /// Returns what a CPU does about stores of programs past its cache to these bytes, which a WB mapping shows; `None` if there are none, or
    /// if memory does not tell.
    pub(crate) fn aliases(&self, self_snoops: bool) -> Option<Effect> {
        let Aliases { aperture, uncached, .. } = self.shared.as_ref().filter(|it| it.write_back)?.aliases;
        match (aperture, uncached) {
            (true, false) => Some(Effect::MakesStale(Route::Aperture)),
            (_, true) if !self_snoops => Some(Effect::MakesStale(Route::CpuUncached)),
            (false, true) => Some(Effect::Drops),
            (true, true) | (false, false) => None,
        }
    }

    /// Fills lines again.
    pub(crate) fn fill_again(&mut self, lines: &[LineRange]) -> Result<()> {
        for &lines in lines {
            let mut left = lines;
            while let Some(run) = self.run(left)? {
                if run.line == Line::Clean {
                    self.transfer(run, Transfer::Fill)?;
                }
                left = Lines::after(left, run);
            }
        }
        self.newly_stale().map(drop)
    }

    /// Returns the lines that have become stale since the last comparison.
    pub(crate) fn newly_stale(&mut self) -> Result<Vec<LineRange>> {
        let mut stale = BTreeMap::new();
        let mut left = self.lines.all();
        while let Some(part) = self.next_data(left)? {
            for page in part.first() / PAGE_LINES..part.end().div_ceil(PAGE_LINES) {
                let lines = self.stale_lines(page)?;
                if lines != 0 {
                    stale.insert(page, lines);
                }
            }
            left = LineRange::new(part.end(), left.end());
        }
        let Some(shared) = &mut self.shared else { return Ok(Vec::new()) };
        let known = std::mem::replace(&mut shared.aliases.stale, stale);
        let mut found: Vec<LineRange> = Vec::new();
        for (page, lines) in &shared.aliases.stale {
            let new = lines & !known.get(page).copied().unwrap_or(0);
            for line in
                (0..PAGE_LINES).filter(|line| new >> line & 1 != 0).map(|line| page * PAGE_LINES + line)
            {
                match found.last_mut() {
                    Some(last) if last.end() == line => *last = LineRange::new(last.first(), line + 1),
                    Some(_) | None => found.push(LineRange::new(line, line + 1)),
                }
            }
        }
        Ok(found)
    }

    /// Returns the stale lines of a page, a bit each.
    fn stale_lines(&self, page: u64) -> Result<u64> {
        let (Some(shared), Some(cached), Some(memory)) = (&self.shared, &self.cached, &self.memory) else {
            return Ok(0);
        };
        if !self.lines.is_owned(page) {
            return Ok(0);
        }
        let (mut in_cache, mut in_memory, mut filled) = ([0; PAGE], [0; PAGE], [0; PAGE]);
        memory.copy_out(page * PAGE_BYTES, &mut in_memory)?;
        shared.filled.copy_out(page * PAGE_BYTES, &mut filled)?;
        if in_memory == filled {
            return Ok(0);
        }
        cached.copy_out(page * PAGE_BYTES, &mut in_cache)?;
        let lines = in_cache.chunks(LINE).zip(filled.chunks(LINE)).zip(in_memory.chunks(LINE)).enumerate();
        let stale = lines.filter(|(_, ((cached, filled), memory))| cached == filled && filled != memory);
        Ok(stale.fold(0, |set, (line, _)| set | 1 << line))
    }
}
