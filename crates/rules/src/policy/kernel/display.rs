//! Scanout: the display engine reads memory, so every way to it flushes.

use crate::errno::Errno;

use crate::platform::Caps;
use crate::policy::Rule;
use crate::vocabulary::Domains;

use super::Refusal;
use super::object::{Force, Object, When};
use super::snapshot::Backing;

impl Object<'_> {
    /// ADDFB2 (`intel_framebuffer_init`).
    pub(super) fn add_framebuffer(&mut self) {
        self.skip(Rule::FramebufferIsAName);
        self.state.framebuffer = true;
    }

    /// RMFB: takes the framebuffer off the screen first if it is shown.
    pub(super) fn remove_framebuffer(&mut self) {
        self.skip(Rule::FramebufferIsAName);
        self.state.framebuffer = false;
        self.state.pinned = false;
    }

    /// A mode set, a flip or a plane update (`i915_gem_object_pin_to_display_plane`).
    ///
    /// Pages come in before the level is forced, so a cached object is not flushed by the acquire.
    pub(super) fn pin_display(&mut self) -> Result<(), Refusal> {
        if !self.state.framebuffer {
            return Err(Refusal::new(Errno::EINVAL, Rule::NotFramebuffer));
        }
        if self.has(Caps::DISCRETE) && self.state.backing != Backing::Local {
            return Err(Refusal::new(Errno::EINVAL, Rule::DisplayNeedsLocal));
        }
        self.acquire();
        let level = self.scanout_level();
        self.set_cache_level(level);
        self.flush_if_display();
        self.state.pinned = true;
        Ok(())
    }

    /// The plane shows something else.
    pub(super) fn unpin_display(&mut self) {
        self.skip(Rule::UnpinKeepsLevel);
        self.state.pinned = false;
    }

    /// DIRTYFB (`intel_user_framebuffer_dirty`).
    pub(super) fn dirty_fb(&mut self) -> Result<(), Refusal> {
        if !self.state.framebuffer {
            return Err(Refusal::new(Errno::ENOENT, Rule::NotFramebuffer));
        }
        if self.rules.dirtyfb_needs_plane && !self.state.pinned {
            self.skip(Rule::DirtyFbOffPlane);
        } else {
            self.flush_if_display();
        }
        Ok(())
    }

    /// SW_FINISH, and the end of every way to the screen (`i915_gem_object_flush_if_display`).
    ///
    /// The CPU write domain is left as it is until the flush, which is by force.
    pub(super) fn flush_if_display(&mut self) {
        if !self.state.framebuffer {
            return self.skip(Rule::NotFramebuffer);
        }
        self.flush_write_domain(!Domains::CPU);
        if self.state.dirty {
            self.clflush_object(Force::Yes, When::Async, Rule::ScanoutFlush);
        } else {
            self.skip(Rule::ScanoutClean);
        }
        self.state.write_domain = Domains::empty();
    }
}
