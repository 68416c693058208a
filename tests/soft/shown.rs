//! The table of what i915 does for scanout, on the software i915.

use std::os::fd::{AsFd, OwnedFd};

use gem_coherency::Result;
use gem_coherency::drm::display::{Display, Framebuffer, Mode, Picture, Shown};
use gem_coherency::drm::soft::Soft;
use gem_coherency::drm::{Drm, ExecObject, Mapping};
use gem_coherency::policy::kernel::{Action, Event};
use gem_coherency::vocabulary::{Access, Domains, MmapMode};

#[path = "../shown/mod.rs"]
mod table;

use table::{Class, letters, rows};

/// An object on its way to the screen, and what is shown when it is not.
struct Subject<'a> {
    soft: &'a Soft,
    picture: Picture,
    spare: Framebuffer,
    framebuffer: Option<Framebuffer>,
    mapping: Option<Mapping>,
    dma_buf: Option<OwnedFd>,
}

impl Subject<'_> {
    /// Shows a framebuffer: by a flip, or by a mode set if the CRTC is off.
    fn show(&self, framebuffer: Framebuffer) -> Result<()> {
        let resources = self.soft.resources()?;
        let crtc = resources.crtcs[0];
        match self.soft.display().crtc(crtc)? {
            Some(_) => self.soft.flip(crtc, framebuffer),
            None => self.soft.set_crtc(crtc, &Shown::new(framebuffer, Mode::VGA, resources.connectors[0])),
        }
    }

    /// Does the call that stands for an event.
    fn perform(&mut self, event: Event) -> Result<()> {
        let (soft, handle) = (self.soft, self.picture.handle);
        let domain = |access, domain| match access {
            Access::Read => soft.set_domain(handle, domain, Domains::empty()),
            Access::Write => soft.set_domain(handle, domain, domain),
        };
        let framebuffer = || self.framebuffer.expect("a framebuffer");
        match event {
            Event::SetDomainCpu(access) => domain(access, Domains::CPU),
            Event::SetDomainGtt(access) => domain(access, Domains::GTT),
            Event::SetDomainWc(access) => domain(access, Domains::WC),
            Event::SetCaching(mode) => soft.set_caching(handle, mode),
            Event::Pread => soft.pread(handle, 0, &mut [0; 192]),
            Event::Pwrite { .. } => soft.pwrite(handle, 4096, &[1; 192]),
            Event::Exec(access) => soft.execute(&[ExecObject { handle, access }]),
            Event::Fault => {
                let mapping = soft.map(handle, MmapMode::Wb, self.picture.bytes())?;
                mapping.copy_in(0, &[1; 192])?;
                self.mapping = Some(mapping);
                Ok(())
            }
            Event::SwFinish => soft.sw_finish(handle),
            Event::DirtyFb => soft.dirty(framebuffer()),
            Event::AddFramebuffer => {
                self.framebuffer = Some(soft.add_framebuffer(&self.picture)?);
                Ok(())
            }
            Event::RemoveFramebuffer => soft.display().remove_framebuffer(framebuffer()),
            Event::PinDisplay => self.show(framebuffer()),
            Event::UnpinDisplay => self.show(self.spare),
            Event::DmaBufBegin(access) => {
                let dma_buf = soft.export(handle)?;
                soft.begin_dma_buf_access(dma_buf.as_fd(), access)?;
                self.dma_buf = Some(dma_buf);
                Ok(())
            }
            Event::DmaBufEnd => {
                soft.end_dma_buf_access(self.dma_buf.as_ref().expect("a dma-buf").as_fd(), Access::Write)
            }
            Event::Acquire | Event::Release | Event::Suspend | Event::Hibernate | Event::Resume { .. } => {
                unreachable!("{event} is no call")
            }
        }
    }
}

#[test]
fn the_software_i915_refuses_what_the_driver_refuses() {
    for name in ["skl", "hsw", "glk", "tgl", "jsl,kernel=6.1"] {
        let soft = Soft::open(&format!("sim:{name},display=on")).unwrap();
        assert_eq!(table::refusals::differences(&soft), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_software_i915_does_for_scanout_what_was_seen_on_the_driver() {
    let mut calls = 0;
    for platform in ["skl", "icl", "tgl", "bdw", "jsl", "ehl", "hsw", "glk", "bxt"] {
        for kernel in ["6.1", "6.12"] {
            let name = format!("sim:{platform},kernel={kernel},display=on");
            let soft = Soft::open(&name).unwrap();
            let class = Class::of(&soft.machine());
            for row in rows(&soft.machine()) {
                // Shown by a flip, and by a mode set.
                for flips in [true, false] {
                    let spare = soft.create_dumb(640, 480).unwrap();
                    let spare = soft.add_framebuffer(&spare).unwrap();
                    let picture = soft.create_dumb(640, 480).unwrap();
                    let mut subject = Subject {
                        soft: &soft,
                        picture,
                        spare,
                        framebuffer: None,
                        mapping: None,
                        dma_buf: None,
                    };
                    if flips {
                        subject.show(spare).unwrap();
                    } else {
                        soft.turn_off(soft.resources().unwrap().crtcs[0]).unwrap();
                    }
                    let mut caching = soft.caching(picture.handle).ok();
                    let mut done = Vec::new();
                    for &event in row.calls {
                        soft.take_kernel_flushes();
                        subject.perform(event).unwrap();
                        let flushes = soft.take_kernel_flushes();
                        let own = flushes.iter().filter(|flush| flush.handle == Some(picture.handle));
                        let count = |action| own.clone().filter(|flush| flush.action == action).count();
                        let now = soft.caching(picture.handle).ok();
                        done.push(letters(count(Action::FlushSync), count(Action::FlushAsync), caching, now));
                        caching = now;
                    }
                    assert_eq!(done, row.expected(class), "{name}: {} {:?}", row.what, row.calls);
                    calls += done.len();
                }
            }
        }
    }
    assert!(calls > 1000, "only {calls} calls");
}
