//! Objects that programs map both through the CPU's caches and past them.
//!
//! Nothing detects a store past the cache: through the aperture without an LLC, or through a WC mapping. Where it changes memory under a clean line,
//! the line is stale, and a load through the WB mapping misses the store. Such lines are found by comparison, at requests.
//!
//! A CPU with self-snoop (CPUID.1:EDX.SS) looks its own caches up at an access through a WC mapping, and drops the line: the next load gets the
//! store. Here the line is filled at the next request. Accesses through the aperture are the device's, and drop nothing. Of an object that is mapped both ways memory
//! does not tell by which mapping it was changed: on such a CPU it is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{MutexGuard, PoisonError};

use super::incoherent::MadeStale;
use crate::kernel::objects::object::Object;
use crate::kernel::system::System;
use crate::memory::lines::Lines;
use crate::memory::store::Store;
use gem_coherency::error::Result;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency_memory_model::{Line, Route, Transfer};

const PAGE: usize = PAGE_BYTES as usize;
const LINE: usize = LINE_BYTES as usize;

/// The mappings of an object's bytes in memory, and the lines that are known to be stale.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// A mapping through the aperture shows memory.
    aperture: bool,
    /// Another mapping does.
    uncached: bool,
    /// The lines that were stale at the last comparison: a bit each, by page.
    stale: BTreeMap<u64, u64>,
}

/// What a CPU does about stores past its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Nothing, so that the lines are stale; the route of the stores.
    MakesStale(Route),
    /// It drops the lines.
    Drops,
}

impl Aliases {
    /// Takes note of a mapping.
    pub(crate) fn add(&mut self, route: Route, shows_cache: bool) {
        self.aperture |= !shows_cache && route == Route::Aperture;
        self.uncached |= !shows_cache && route != Route::Aperture;
    }
}

impl Store {
    /// Returns what a CPU does about stores of programs past its cache to these bytes, which a WB mapping shows; `None` if there are none, or
    /// if memory does not tell.
    fn aliases(&self, self_snoops: bool) -> Option<Effect> {
        let Aliases { aperture, uncached, .. } = self.shared.as_ref().filter(|it| it.write_back)?.aliases;
        match (aperture, uncached) {
            (true, false) => Some(Effect::MakesStale(Route::Aperture)),
            (_, true) if !self_snoops => Some(Effect::MakesStale(Route::CpuUncached)),
            (false, true) => Some(Effect::Drops),
            (true, true) | (false, false) => None,
        }
    }

    /// Fills lines again.
    fn fill_again(&mut self, lines: &[LineRange]) -> Result<()> {
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
    /// Notes an object, if programs may store to it past the cache.
    pub(crate) fn note_aliases(&self, store: &mut Store, object: u64) {
        if store.aliases(self.self_snoops).is_some()
            && self.aliased().insert(object)
            // What is stale already is not a program's.
            && let Err(error) = store.newly_stale()
        {
            tracing::error!(%error, "aliases");
        }
    }

    /// Lets the CPU drop the lines that programs have stored to past its cache since [`Self::note_stale_lines`], if it has self-snoop. Returns
    /// the lines that such stores have made stale, if the device is watched.
    pub(crate) fn stores_past_the_cache(&self) -> Vec<MadeStale> {
        let mut found = Vec::new();
        self.each_aliased(|object, store, effect| {
            let lines = store.newly_stale()?;
            match effect {
                _ if lines.is_empty() => {}
                Effect::Drops => store.fill_again(&lines)?,
                Effect::MakesStale(route) => found.push((object.id(), route, lines)),
            }
            Ok(())
        });
        let stale = |(number, route, lines)| {
            let object = self.object(number)?;
            let state = object.state();
            let (level, handle) = (state.snapshot.level, state.name);
            Some(MadeStale { object: number, handle, size: object.size(), level, route, lines })
        };
        found.into_iter().filter_map(stale).collect()
    }

    /// Notes the lines that are stale after a request.
    pub(crate) fn note_stale_lines(&self) {
        self.each_aliased(|_, store, _| store.newly_stale().map(drop));
    }

    /// Calls `act` with each object that programs may store to past the cache; without a watch, only with those of which the
    /// CPU drops lines.
    fn each_aliased(&self, mut act: impl FnMut(&Object, &mut Store, Effect) -> Result<()>) {
        let all = self.aliased().clone();
        for number in all {
            let Some(object) = self.object(number) else {
                self.aliased().remove(&number);
                continue;
            };
            let mut store = object.store();
            let effect = store.aliases(self.self_snoops);
            let effect = effect.filter(|effect| self.incoherent.is_on() || *effect == Effect::Drops);
            if let Some(effect) = effect
                && let Err(error) = act(&object, &mut store, effect)
            {
                tracing::error!(%error, "aliases");
            }
        }
    }

    fn aliased(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.aliased.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
