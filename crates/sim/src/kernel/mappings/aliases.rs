//! The objects that programs map both through the CPU's caches and past them, and what requests do about them.

use std::collections::BTreeSet;
use std::sync::MutexGuard;

use crate::kernel::objects::object::Object;
use crate::kernel::objects::system::System;
use crate::memory::aliases::Effect;
use crate::memory::backing_store::BackingStore;
use crate::observe::incoherent::MadeStale;
use gem_coherency::error::Result;

impl System {
    /// Notes an object, if programs may store to it past the cache.
    pub(crate) fn note_aliases(&self, backing: &mut BackingStore, object: u64) {
        if backing.aliases(self.hardware.self_snoops).is_some()
            && self.aliased().insert(object)
            // What is stale already is not a program's.
            && let Err(error) = backing.newly_stale()
        {
            tracing::error!(%error, "aliases");
        }
    }

    /// Lets the CPU drop the lines that programs have stored to past its cache since [`Self::note_stale_lines`], if it has self-snoop. Returns
    /// the lines that such stores have made stale, if the device is watched.
    pub(crate) fn stores_past_the_cache(&self) -> Vec<MadeStale> {
        let mut found = Vec::new();
        self.each_aliased(|object, backing, effect| {
            let lines = backing.newly_stale()?;
            match effect {
                _ if lines.is_empty() => {}
                Effect::Drops => backing.fill_again(&lines)?,
                Effect::MakesStale(route) => found.push((object.id(), route, lines)),
            }
            Ok(())
        });
        let stale = |(number, route, lines)| {
            let object = self.object(number)?;
            let state = object.state();
            let (level, handle) = (state.snapshot.level, state.first_handle);
            Some(MadeStale { object: number, handle, size: object.size(), level, route, lines })
        };
        found.into_iter().filter_map(stale).collect()
    }

    /// Notes the lines that are stale after a request.
    pub(crate) fn note_stale_lines(&self) {
        self.each_aliased(|_, backing, _| backing.newly_stale().map(drop));
    }

    /// Calls `act` with each object that programs may store to past the cache; without a watch, only with those of which the
    /// CPU drops lines.
    fn each_aliased(&self, mut act: impl FnMut(&Object, &mut BackingStore, Effect) -> Result<()>) {
        let all = self.aliased().clone();
        for number in all {
            let Some(object) = self.object(number) else {
                self.aliased().remove(&number);
                continue;
            };
            let mut backing = object.backing();
            let effect = backing.aliases(self.hardware.self_snoops);
            let effect = effect.filter(|effect| self.incoherent.is_on() || *effect == Effect::Drops);
            if let Some(effect) = effect
                && let Err(error) = act(&object, &mut backing, effect)
            {
                tracing::error!(%error, "aliases");
            }
        }
    }

    fn aliased(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.aliased.lock()
    }
}
