//! Scanout: the display engine reads memory, so every path to the screen flushes.

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
        self.skip(Rule::FbFlushesNothing);
        self.state.framebuffer = true;
    }

    /// RMFB: first takes the framebuffer off the screen if it is shown.
    pub(super) fn remove_framebuffer(&mut self) {
        self.skip(Rule::FbFlushesNothing);
        self.state.framebuffer = false;
        self.state.pinned = false;
    }

    /// A mode set, a flip or a plane update (`i915_gem_object_pin_to_display_plane`).
    ///
    /// If the kernel acquires the pages before it forces the level, the acquire does not flush a cached object.
    pub(super) fn pin_display(&mut self) -> Result<(), Refusal> {
        if !self.state.framebuffer {
            return Err(Refusal::new(Errno::EINVAL, Rule::NotFramebuffer));
        }
        if self.has(Caps::DISCRETE) && self.state.backing != Backing::Local {
            return Err(Refusal::new(Errno::EINVAL, Rule::DisplayNeedsLocal));
        }
        if self.rules.pin_acquires_first {
            self.acquire();
        }
        let level = self.scanout_level();
        self.set_cache_level(level);
        self.acquire();
        self.flush_if_display();
        self.state.pinned = true;
        Ok(())
    }

    /// The plane shows another framebuffer, or none.
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

    /// SW_FINISH, and the last step of every path to the screen (`i915_gem_object_flush_if_display`).
    ///
    /// The CPU write domain stays until the flush, which is forced.
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
