//! Objects that programs map both through the CPU's caches and through the aperture, which goes past them without an LLC.
//!
//! Nothing detects a store through the aperture. Where it changes memory under a clean line, the line is stale, and a load through the WB mapping
//! misses the store. Such lines are found by comparison, at requests. An object that is also mapped WC or UC is left out: a CPU with
//! self-snoop drops its line at such a store, and memory does not tell by which mapping it was changed.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::incoherent::MadeStale;
use super::store::Store;
use super::system::System;
use gem_coherency::error::Result;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency_hierarchy::Route;

const PAGE: usize = PAGE_BYTES as usize;
const LINE: usize = LINE_BYTES as usize;

/// The mappings of an object's bytes in memory, and the lines that are known to be stale.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// A mapping through the aperture shows memory.
    aperture: bool,
    /// Another mapping does.
    uncached: bool,
    /// The lines that were stale at the last comparison: a bit each, by page.
    stale: BTreeMap<u64, u64>,
}

impl Aliases {
    /// Takes note of a mapping.
    pub(super) fn add(&mut self, route: Route, shows_cache: bool) {
        self.aperture |= !shows_cache && route == Route::Aperture;
        self.uncached |= !shows_cache && route != Route::Aperture;
    }
}

impl Store {
    /// Returns whether stores through the aperture alone change memory under lines that a WB mapping shows.
    fn has_aliases(&self) -> bool {
        self.shared
            .as_ref()
            .is_some_and(|shared| shared.write_back && shared.aliases.aperture && !shared.aliases.uncached)
    }

    /// Returns the lines that have become stale since the last comparison.
    fn newly_stale(&mut self) -> Result<Vec<LineRange>> {
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

impl System {
    /// Notes an object, if stores through the aperture alone can make its lines stale.
    pub(super) fn note_aliases(&self, store: &Store, object: u64) {
        if store.has_aliases() {
            self.aliased.lock().unwrap_or_else(PoisonError::into_inner).insert(object);
        }
    }

    /// Returns the lines that have become stale since the last call, of objects that are mapped through the aperture and WB.
    pub(crate) fn made_stale_past_the_cache(&self) -> Vec<MadeStale> {
        if !self.incoherent.is_on() {
            return Vec::new();
        }
        let mut aliased = self.aliased.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut found = Vec::new();
        aliased.retain(|&number| {
            let Some(object) = self.object(number) else { return true };
            let (level, handle) = {
                let state = object.state();
                (state.snapshot.level, state.name)
            };
            let mut store = object.store();
            if !store.has_aliases() {
                return true;
            }
            match store.newly_stale() {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => {
                    let (size, route) = (object.size(), Route::Aperture);
                    found.push(MadeStale { object: number, handle, size, level, route, lines });
                }
                Err(error) => tracing::error!(%error, "aliases"),
            }
            false
        });
        // Those that are gone, or that are mapped otherwise by now.
        self.aliased
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|number| !aliased.contains(number));
        found
    }
}
