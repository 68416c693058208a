//! An object as it is followed.

use std::collections::VecDeque;

use gem_coherency::policy::kernel::{Creation, Snapshot};

use super::window::{Expected, SeenOne};

/// Whether the state is known.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// It has no handle yet: it may be the driver's own.
    Unnamed {
        /// What makes its pages.
        creation: Result<Creation, &'static str>,
    },
    /// As the rules have it.
    Followed(Snapshot),
    /// Not, and why.
    NotFollowed(&'static str),
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub state: State,
    /// Its place in the order of creation; 0 until it has a handle.
    pub number: u32,
    pub size_bytes: u64,
    pub handle: Option<u32>,
    /// Framebuffers that it has.
    pub framebuffers: u32,
    /// Whether it is of another device than the one that is followed.
    pub is_foreign: bool,
    /// Whether it got pages before it got a handle.
    pub paged: bool,
    /// Flushes that a worker is going to do.
    pub awaited: VecDeque<Expected>,
    /// Flushes that a worker did before the call ended that asks for them.
    pub early: VecDeque<SeenOne>,
}

impl Object {
    /// An object that just got its size.
    pub(super) fn new(size_bytes: u64) -> Self {
        Self {
            state: State::Unnamed { creation: Err("the source of its pages is unknown") },
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

    /// Whether userspace has, or had, a handle of it.
    pub(super) fn is_named(&self) -> bool {
        match self.state {
            State::Unnamed { .. } => false,
            State::Followed(_) | State::NotFollowed(_) => true,
        }
    }

    /// It is not followed from now on; the first reason stays.
    pub(super) fn lose(&mut self, why: &'static str) {
        match &mut self.state {
            State::Unnamed { creation: Ok(_) } => self.state = State::Unnamed { creation: Err(why) },
            State::Followed(_) => {
                self.state = State::NotFollowed(why);
                self.awaited.clear();
            }
            State::Unnamed { creation: Err(_) } | State::NotFollowed(_) => {}
        }
    }
}

/// What `operations` says about how an object came to be.
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
