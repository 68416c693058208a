//! What an object of a run under i915 is on the classes of xe, as the run goes on: see [`super::counterpart`].

use gem_coherency::policy::kernel::{Backing, Creation, Event};
use gem_coherency::vocabulary::{Agent, CachingMode};
use gem_coherency::xe::CpuCaching;
use gem_coherency_memory_model::Route;
use gem_coherency_sim::NewObject;

use super::classes::{Classes, Mask};
use super::counterpart::Counterpart;
use super::flushes::Ledger;
use super::line::States;
use super::object::Object;

const APERTURE: &str = "objects that are mapped through the aperture: xe maps none there";
const TWO_WAYS: &str = "objects that are mapped write-back and write-combining, or against their caching: xe maps an object \
                        in one way, which is chosen at its creation";
const CHANGED: &str =
    "objects whose caching SET_CACHING changes after their first use: under xe it is chosen at creation";
const MOVED: &str = "objects of SET_DOMAIN: xe has no domains, and flushes nothing for the CPU";
const FINISHED: &str = "objects of SW_FINISH: xe has no such request, and flushes nothing for the display";
const COPIED: &str =
    "objects that the kernel copies to or from (PREAD, PWRITE, relocations): xe has no such request";
const OF_THE_KERNEL: &str = "objects that the kernel makes for itself";

impl Object {
    /// Begins to judge an object of i915 by the classes of xe.
    pub(super) fn begin_counterpart(&mut self, classes: &Classes, creation: Creation) {
        self.counterpart.on = classes.set(|class| class.xe.is_some());
        match creation {
            Creation::User | Creation::UserWithPat(_) | Creation::Local => {
                self.choose(classes, CachingMode::None);
            }
            // The other ones are not traced.
            Creation::Userptr | Creation::Import | Creation::Internal | Creation::Stolen | Creation::Phys => {
                self.end_counterpart(&mut Ledger::default(), OF_THE_KERNEL)
            }
        }
    }

    /// Takes note of a mapping.
    pub(super) fn map_counterpart(&mut self, classes: &Classes, ledger: &mut Ledger, route: Route) {
        if self.counterpart.on == 0 {
            return;
        }
        let caching = match route {
            Route::CpuCached | Route::CpuNonTemporal => CpuCaching::Wb,
            Route::CpuUncached => CpuCaching::Wc,
            Route::Aperture | Route::Gpu(_) | Route::Display => {
                return self.end_counterpart(ledger, APERTURE);
            }
        };
        let Counterpart { chosen, mapped, .. } = self.counterpart;
        let wanted = chosen.map(|mode| match mode {
            CachingMode::Cached => CpuCaching::Wb,
            CachingMode::None | CachingMode::Display => CpuCaching::Wc,
        });
        if mapped.or(wanted).is_some_and(|known| known != caching) {
            return self.end_counterpart(ledger, TWO_WAYS);
        }
        if mapped.is_none() && wanted.is_none() && caching == CpuCaching::Wb {
            self.choose(classes, CachingMode::Cached);
            if self.reached.is_framed() {
                self.refuse_framebuffer(classes, ledger);
            }
        }
        self.counterpart.mapped = Some(caching);
        self.counterpart.is_used = true;
    }

    /// Takes note of an event of i915's rules, before it.
    pub(super) fn happen_to_counterpart(&mut self, classes: &Classes, ledger: &mut Ledger, event: Event) {
        if self.counterpart.on == 0 {
            return;
        }
        match event {
            Event::SetCaching(_) if self.counterpart.is_used => self.end_counterpart(ledger, CHANGED),
            Event::SetCaching(mode) => {
                self.counterpart.chosen = Some(mode);
                self.choose(classes, mode);
            }
            Event::SetDomainCpu(_) | Event::SetDomainGtt(_) | Event::SetDomainWc(_) => {
                self.end_counterpart(ledger, MOVED);
            }
            Event::SwFinish => self.end_counterpart(ledger, FINISHED),
            Event::Pread | Event::Pwrite { .. } => self.end_counterpart(ledger, COPIED),
            Event::Acquire
            | Event::Release
            | Event::Fault
            | Event::Exec(_)
            | Event::AddFramebuffer
            | Event::RemoveFramebuffer
            | Event::PinDisplay
            | Event::UnpinDisplay
            | Event::DirtyFb
            | Event::DmaBufBegin(_)
            | Event::DmaBufEnd
            | Event::Suspend
            | Event::Hibernate
            | Event::Resume { .. } => {}
        }
    }

    /// Takes note of an access by the kernel, the GPU or the display engine.
    pub(super) fn access_counterpart(&mut self, ledger: &mut Ledger, route: Route) {
        self.counterpart.is_used = true;
        match route {
            Route::Gpu(_) | Route::Display => {}
            Route::CpuCached | Route::CpuNonTemporal | Route::CpuUncached | Route::Aperture => {
                if self.counterpart.on != 0 {
                    self.end_counterpart(ledger, COPIED);
                }
            }
        }
    }

    /// Creates the object on the classes of xe as the library does for a caching mode. One that the display cannot be asked to show there is as one
    /// that it is not asked to.
    fn choose(&mut self, classes: &Classes, mode: CachingMode) {
        let size = self.size;
        for (number, (bit, class)) in classes.with_bits().enumerate() {
            let Some(device) = class.xe.as_ref().filter(|_| self.counterpart.on & bit != 0) else { continue };
            let choice =
                device.choose_mode(mode, size).or_else(|| device.choose_mode(CachingMode::None, size));
            let created =
                choice.and_then(|choice| Some((device.create(&choice.create?).ok()?, choice.pat_index)));
            let Some((created, pat_index)) = created else {
                self.unjudged |= bit;
                continue;
            };
            let new = NewObject::of_xe(device, &created, classes.without);
            self.choose_on(number, new.in_shared_cache(device), (created, pat_index));
            let has_zeroes = new.zeroed_by == Agent::Cpu && new.snapshot.backing != Backing::Local;
            self.zero(bit, has_zeroes);
        }
    }

    /// Does not judge the object on the classes of xe any more.
    fn end_counterpart(&mut self, ledger: &mut Ledger, why: &'static str) {
        let on = std::mem::take(&mut self.counterpart.on);
        self.note(on, why);
        self.give_up(ledger, on);
    }
}

impl States {
    /// Makes the line one of a new object, which the kernel has zeroed through the cache or not.
    pub(super) fn renew(&mut self, on: Mask, is_dirty: bool) {
        self.flush(on, 0);
        self.dirty |= if is_dirty { on } else { 0 };
    }
}
