//! The table of what i915 does for scanout, on the software i915.

use std::os::fd::{AsFd, OwnedFd};

use bytemuck::{Pod, bytes_of, try_pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency::backend::display::{Display, Framebuffer, Mode, Picture, Shown};
use gem_coherency::backend::{Drm, ExecObject, Extras, Mapping};
use gem_coherency::policy::kernel::{Action, Creation, Event};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, Handle, MmapMode};
use gem_coherency::{Error, Result};
use gem_coherency_sim::{Minor, Pages, Process, SimDevice};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::i915::*;

use crate::table::{self, Class, agrees, letters, rows};

/// The addresses of the process's memory and of its structs.
const MEMORY: u64 = 0x100_0000;
const ARGS: u64 = 0x1_0000;
/// Pixels of the pictures.
const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;

/// A process with the only file of a device, of whose display it is the master.
struct Setup {
    process: Process,
    fd: i32,
}

impl Setup {
    fn new(name: &str) -> Self {
        let mut process = Process::default();
        let fd = process.open(&SimDevice::open(name).unwrap(), Minor::Primary);
        process.allocate(ARGS, 4096, Pages::ReadWrite).unwrap();
        process.allocate(MEMORY, u64::from(4 * WIDTH * HEIGHT), Pages::ReadWrite).unwrap();
        Self { process, fd }
    }

    fn soft(&self) -> &SimDevice {
        self.process.device(self.fd).expect("the file")
    }

    /// Makes a request with a number.
    fn request<T: Pod>(&mut self, request: Ioctl<T>, args: T) -> Result<T, Errno> {
        self.process.store(ARGS, bytes_of(&args)).unwrap();
        self.process.ioctl(self.fd, request.code, ARGS)?;
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(ARGS, &mut bytes).unwrap();
        Ok(try_pod_read_unaligned(&bytes).unwrap_or(args))
    }

    /// A new object with room for a picture.
    fn picture(&mut self, of: Creation) -> Picture {
        let named = |handle| Picture { handle, width: WIDTH, height: HEIGHT, pitch_bytes: 4 * WIDTH };
        let size_bytes = u64::from(4 * WIDTH * HEIGHT);
        if of == Creation::Userptr {
            let args = drm_i915_gem_userptr { user_ptr: MEMORY, user_size: size_bytes, ..Default::default() };
            let handle = self.request(DRM_IOCTL_I915_GEM_USERPTR, args).unwrap().handle;
            named(Handle::new(handle).unwrap())
        } else if of == Creation::Import {
            let other = SimDevice::open("sim:glk").unwrap();
            let dma_buf = other.export(other.create(size_bytes).unwrap().handle).unwrap();
            named(self.soft().import(dma_buf.as_fd()).unwrap().handle)
        } else {
            self.soft().create_dumb(WIDTH, HEIGHT).unwrap()
        }
    }
}

/// An object on its way to the screen, and what is shown when it is not.
struct Subject<'a> {
    setup: &'a mut Setup,
    of: Creation,
    picture: Picture,
    spare: Framebuffer,
    framebuffer: Option<Framebuffer>,
    mapping: Option<Mapping>,
    dma_buf: Option<OwnedFd>,
}

impl<'a> Subject<'a> {
    fn new(setup: &'a mut Setup, of: Creation, picture: Picture, spare: Framebuffer) -> Self {
        Self { setup, of, picture, spare, framebuffer: None, mapping: None, dma_buf: None }
    }

    /// Shows a framebuffer: by a flip, or by a mode set if the CRTC is off.
    fn show(&self, framebuffer: Framebuffer) -> Result<()> {
        let soft = self.setup.soft();
        let resources = soft.resources()?;
        let crtc = resources.crtcs[0];
        match soft.display()?.crtc(crtc)? {
            Some(_) => soft.flip(crtc, framebuffer),
            None => soft.set_crtc(crtc, &Shown::new(framebuffer, Mode::VGA, resources.connectors[0])),
        }
    }

    /// Does the call that stands for an event.
    fn perform(&mut self, event: Event) -> Result<()> {
        let handle = self.picture.handle;
        if self.of == Creation::Userptr && event == Event::SetDomainCpu(Access::Write) {
            // Only the process whose memory it is brings it in.
            let cpu = Domains::CPU.bits();
            let args = drm_i915_gem_set_domain { handle: handle.get(), read_domains: cpu, write_domain: cpu };
            let request = DRM_IOCTL_I915_GEM_SET_DOMAIN;
            let done = self.setup.request(request, args);
            return done.map(drop).map_err(|errno| Error::Ioctl { request: request.name, errno });
        }
        let soft = self.setup.soft();
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
            Event::RemoveFramebuffer => soft.display()?.remove_framebuffer(framebuffer()),
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
        let soft = SimDevice::open(&format!("sim:{name},display=on")).unwrap();
        assert_eq!(table::refusals::differences(&soft), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_processs_memory_is_shown_only_once_a_request_has_brought_it_in() {
    let mut setup = Setup::new("sim:skl,display=on");
    let picture = setup.picture(Creation::Userptr);
    let soft = setup.soft();
    let framebuffer = soft.add_framebuffer(&picture).unwrap();
    let resources = soft.resources().unwrap();
    let shown = Shown::new(framebuffer, Mode::VGA, resources.connectors[0]);
    assert_eq!(soft.set_crtc(resources.crtcs[0], &shown).unwrap_err().errno(), Errno::EAGAIN);
    let mut subject = Subject::new(&mut setup, Creation::Userptr, picture, framebuffer);
    subject.framebuffer = Some(framebuffer);
    subject.perform(Event::SetDomainCpu(Access::Write)).unwrap();
    subject.perform(Event::PinDisplay).unwrap();
}

#[test]
fn the_software_i915_does_for_scanout_what_was_seen_on_the_driver() {
    let mut compared = 0;
    for platform in ["skl", "icl", "tgl", "bdw", "jsl", "ehl", "hsw", "glk", "bxt"] {
        for kernel in ["6.1", "6.6", "6.7", "6.12"] {
            let name = format!("sim:{platform},kernel={kernel},display=on");
            let machine = SimDevice::open(&name).unwrap().machine();
            let class = Class::of(&machine);
            for row in rows(&machine) {
                // Shown by a flip, and by a mode set.
                for flips in [true, false] {
                    let mut setup = Setup::new(&name);
                    let spare = setup.picture(Creation::User);
                    let spare = setup.soft().add_framebuffer(&spare).unwrap();
                    let picture = setup.picture(row.of);
                    let mut subject = Subject::new(&mut setup, row.of, picture, spare);
                    if flips {
                        subject.show(spare).unwrap();
                    }
                    let caching = |subject: &Subject<'_>| subject.setup.soft().caching(picture.handle).ok();
                    let mut before = caching(&subject);
                    let mut done = Vec::new();
                    for &event in row.calls {
                        subject.setup.soft().take_kernel_flushes();
                        match subject.perform(event) {
                            // Userspace cannot choose this caching mode.
                            Err(error) if row.of == Creation::Userptr && error.errno() == Errno::ENXIO => {
                                assert_eq!(event, Event::SetCaching(CachingMode::None));
                            }
                            result => result.unwrap(),
                        }
                        let flushes = subject.setup.soft().take_kernel_flushes();
                        let own = flushes.iter().filter(|flush| flush.handle == Some(picture.handle));
                        let count = |action| own.clone().filter(|flush| flush.action == action).count();
                        let wbinvd = flushes.iter().filter(|flush| flush.action == Action::Wbinvd).count();
                        let now = caching(&subject);
                        let (whole, queued) = (count(Action::FlushSync), count(Action::FlushAsync));
                        done.push(letters(wbinvd, whole, queued, before, now));
                        before = now;
                    }
                    let expected = row.expected(class);
                    let (what, calls) = (row.what, row.calls);
                    assert!(agrees(&done, &expected), "{name}: {what} {calls:?}: {done:?}, not {expected:?}");
                    compared += done.len();
                }
            }
        }
    }
    assert!(compared > 1000, "only {compared} calls");
}
