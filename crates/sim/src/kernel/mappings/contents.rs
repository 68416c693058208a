//! What programs' mappings show, and when that changes.
//!
//! A mapping of a program shows an object's bytes in files, so nothing sees the program's touches. What the first touch
//! does, it brings pages in, is therefore done when the object is mapped ([`Window::show`]). MADVISE and PWRITE do
//! something else if there are no pages, so they first look whether the files have a page by now. If they have none,
//! nobody touched the mapping, and the object returns to its state without pages until the request is done
//! ([`Object::settle`], [`System::settle`]). So an untouched object is purged at once if its contents are not needed. A
//! touch of an object that has bytes already is not seen: it counts as touched.
//!
//! The mapping of a purged object, and one that the object's level refuses, shows nothing, and a touch raises SIGBUS. One of a
//! tiled object in the aperture shows its linear view ([`Detiled`]). A program's mappings follow such a change at the end of each of its own requests ([`process::memory::Memory::follow`](crate::process::memory::Memory::follow)). Those of other
//! programs follow at the end of their next ones.

use std::os::fd::AsFd;
use std::sync::{Arc, MutexGuard, Weak};

use super::linear_views::{self, linear_view};
use super::window::{Memory, PAGE_FAULT, Window};
use crate::kernel::objects::object::Object;
use crate::kernel::objects::state::{Changes, State, Untouched};
use crate::kernel::objects::system::System;
use crate::memory::backing_store::BackingStore;
use crate::memory::detiled::Detiled;
use crate::memory::program::Shown;
use gem_coherency::Errno;
use gem_coherency::backend::mapping::SharedBytes;
use gem_coherency::error::Result;
use gem_coherency::policy::Rule;
use gem_coherency::policy::driver::{Path, path_refusal};
use gem_coherency::policy::kernel::{Event, Snapshot};
use gem_coherency::vocabulary::{CacheLevel, MmapMode};
use nix::unistd::{Whence, lseek64};

/// What a program's mapping shows of an object.
#[derive(Clone, Debug)]
pub(crate) enum MappingContents {
    /// The bytes.
    Bytes,
    /// The bytes of a tiled object, in linear order.
    Linear { _view: Arc<Detiled> },
    /// Nothing: a touch raises SIGBUS.
    Nothing,
}

impl Object {
    /// Brings the state up to date before a request that depends on the pages.
    pub(crate) fn settle(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(before) = state.untouched.filter(|_| state.snapshot.pages) else { return };
        if !self.is_untouched() {
            state.untouched = None;
            return;
        }
        self.system().accounting.give_memory(self.size(), state.snapshot.backing);
        state.untouched = Some(Untouched { after_touch: Some((state.snapshot, state.bound)), ..before });
        (state.snapshot, state.bound) = (before.snapshot, before.bound);
        self.system().settled().push(Arc::downgrade(self));
    }

    /// Takes note of a step to `next`, before it is made: the object no longer counts as untouched if the event releases
    /// pages, or would bring them in; a new level may change what mappings show.
    pub(crate) fn note_step(&self, state: &mut State, event: Event, next: Snapshot) {
        let before = state.snapshot;
        if state.untouched.is_some() {
            let bare = Snapshot { pages: false, ..before };
            let acquires = self.system().step(bare, event).is_ok_and(|step| step.next.pages);
            if before.pages && !next.pages || acquires {
                state.untouched = None;
            }
        }
        if next.level != before.level {
            Changes::happened();
        }
    }

    /// Returns whether no mapping of a program was touched.
    fn is_untouched(&self) -> bool {
        self.backing().is_untouched() && linear_views::is_untouched(self)
    }

    /// Prepares for touches by programs after a request.
    fn expect_touches(&self) {
        let mut state = self.state();
        let Some(before) = state.untouched.take().filter(|_| !state.snapshot.pages && !state.purged) else {
            return;
        };
        let is_same = (state.snapshot, state.bound) == (before.snapshot, before.bound);
        if let Some(after) = before.after_touch.filter(|_| is_same && self.is_untouched())
            && self.system().accounting.take_memory(self.size(), after.0.backing)
        {
            // The kernel's flushes for the first touch were made.
            (state.snapshot, state.bound) = after;
            state.untouched = Some(before);
            return;
        }
        let before = Untouched { snapshot: state.snapshot, bound: state.bound, after_touch: None, ..before };
        // A touch that fails raises SIGBUS.
        if self.happen(&mut state, PAGE_FAULT, Event::Fault).is_ok() {
            state.bound |= before.binds;
            state.untouched = Some(before);
        }
    }
}

impl BackingStore {
    /// Returns whether the files that mappings show have no page yet: a load brings one in, as a store does.
    pub(crate) fn is_untouched(&self) -> bool {
        let is_hole = |bytes: &Option<SharedBytes>| {
            let file = bytes.as_ref().and_then(SharedBytes::file);
            file.is_some_and(|file| lseek64(file.as_fd(), 0, Whence::SeekData) == Err(nix::Error::ENXIO))
        };
        match &self.shared {
            Some(shared) => {
                (!shared.shows_cache || is_hole(&self.cached))
                    && (!shared.shows_memory || is_hole(&self.memory))
            }
            None => self.lines.touched(self.lines.all()).is_none(),
        }
    }
}

impl System {
    /// Returns the rule by which a page fault in a mapping of this mode is refused for an object of this level; xe has no such rule.
    pub(crate) fn map_refusal(&self, level: CacheLevel, mode: MmapMode) -> Option<Rule> {
        if self.xe.is_some() { None } else { path_refusal(self.machine.caps, level, Path::Cpu(mode)) }
    }

    /// Prepares for touches of the objects that a request brought up to date.
    pub(crate) fn settle(&self) {
        for object in std::mem::take(&mut *self.settled()) {
            if let Some(object) = object.upgrade() {
                object.expect_touches();
            }
        }
    }

    /// Locks the objects that the request brought up to date; no other lock is taken under it.
    fn settled(&self) -> MutexGuard<'_, Vec<Weak<Object>>> {
        self.settled.lock()
    }
}

impl Window {
    /// Returns what a mapping of a program shows that was not touched yet.
    ///
    /// # Errors
    /// As [`Self::views`]; those of creating a linear view.
    fn show_untouched(&mut self) -> Result<Shown> {
        let Memory::Object(object) = &self.memory else { return self.views(0).map(Shown::Bytes) };
        let mut state = object.state();
        let before = if object.system().trace.is_coherent() { None } else { Untouched::before(&state) };
        self.fault(object, &mut state)?;
        state.untouched = before.map(|before| before.bound_by(&state));
        if let Some(order) = self.order_of(object, &state) {
            let view = linear_view(object, &state, order)?;
            let shown = Shown::Linear { bytes: view.file()?, offset: self.first, object: object.id() };
            drop(state);
            self.contents = MappingContents::Linear { _view: view };
            return Ok(shown);
        }
        let (ctx, route) = (object.access_context(&state), self.route(state.snapshot.level));
        let views = self.files(&mut object.backing(), ctx, route, 0)?;
        drop(state);
        self.shown = Some(route);
        self.contents = MappingContents::Bytes;
        Ok(Shown::Bytes(views))
    }

    /// Returns whether a program's mapping would show the same if it were made now.
    pub(crate) fn is_current(&self) -> bool {
        let Memory::Object(object) = &self.memory else { return true };
        let state = object.state();
        let refusal = object.system().map_refusal(state.snapshot.level, self.mode);
        let (shows, order) = (refusal.is_none() && !state.purged, self.order_of(object, &state));
        // A move changes the type of the mapping.
        let is_now = |route| route == self.route(state.snapshot.level);
        let is_told = !object.may_be_local() || self.shown.is_none_or(is_now);
        match &self.contents {
            MappingContents::Nothing => !shows,
            MappingContents::Bytes => shows && order.is_none() && is_told,
            MappingContents::Linear { .. } => shows && order.is_some(),
        }
    }

    /// Returns what a program's mapping shows, as if it were touched now.
    ///
    /// # Errors
    /// Those of creating the files; ENOMEM, and others of a page fault that do not raise SIGBUS.
    pub(crate) fn show(&mut self) -> Result<Shown> {
        match self.show_untouched() {
            Err(error) if error.errno() == Errno::EFAULT => {
                self.contents = MappingContents::Nothing;
                Ok(Shown::Nothing(self.object()))
            }
            shown => shown,
        }
    }
}
