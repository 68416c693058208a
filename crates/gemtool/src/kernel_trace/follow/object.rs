//! A followed object.

use std::collections::VecDeque;

use gem_coherency::policy::kernel::{Creation, Snapshot};

use super::window::{Expected, SeenOne};

/// The state of an object, if known.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// It has no handle yet: it may be the driver's own.
    NoHandle {
        /// The source of its pages.
        creation: Result<Creation, &'static str>,
    },
    /// The state by the rules.
    Followed(Snapshot),
    /// The reason why the object is not followed.
    NotFollowed(&'static str),
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub state: State,
    /// Its number in the order of creation; 0 until it has a handle.
    pub number: u32,
    pub size_bytes: u64,
    pub handle: Option<u32>,
    /// Number of its framebuffers.
    pub framebuffers: u32,
    /// The object belongs to another device than the followed one.
    pub is_foreign: bool,
    /// The object got pages before it got a handle.
    pub paged: bool,
    /// Flushes that a worker is expected to perform.
    pub awaited: VecDeque<Expected>,
    /// Flushes that a worker performed before the end of the call that requested them.
    pub early: VecDeque<SeenOne>,
}

impl Object {
    /// Creates an object that just got its size.
    pub(super) fn new(size_bytes: u64) -> Self {
        Self {
            state: State::NoHandle { creation: Err("the source of its pages is unknown") },
            number: 0,
            size_bytes,
            handle: None,
            framebuffers: 0,
            is_foreign: false,
            paged: false,
            awaited: VecDeque::new(),
            early: VecDeque::new(),
        }
    }

    /// Returns whether userspace has or had a handle of it.
    pub(super) fn has_handle(&self) -> bool {
        match self.state {
            State::NoHandle { .. } => false,
            State::Followed(_) | State::NotFollowed(_) => true,
        }
    }

    /// Stops following the object; the first reason is kept.
    pub(super) fn stop_following(&mut self, why: &'static str) {
        match &mut self.state {
            State::NoHandle { creation: Ok(_) } => self.state = State::NoHandle { creation: Err(why) },
            State::Followed(_) => {
                self.state = State::NotFollowed(why);
                self.awaited.clear();
            }
            State::NoHandle { creation: Err(_) } | State::NotFollowed(_) => {}
        }
    }
}

/// Returns the creation of an object, given its `operations`.
///
/// Objects of a discrete device may be in local memory or not: neither is ever flushed.
pub(super) fn creation(operations: &str) -> Result<Creation, &'static str> {
    match operations {
        "i915_gem_shmem_ops" | "i915_gem_ttm_obj_ops" => Ok(Creation::User),
        "i915_gem_userptr_ops" => Ok(Creation::Userptr),
        "i915_gem_object_dmabuf_ops" => Ok(Creation::Import),
        "i915_gem_object_stolen_ops" => Err("it is in stolen memory"),
        _ => Err("the source of its pages is unknown"),
    }
}
