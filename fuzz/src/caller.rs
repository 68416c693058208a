//! A user of the library who keeps to its calls, and a model of what everybody should see.
//!
//! Faults may refuse any call; what a refused call was to write is unknown then, and nothing else is.

use std::fmt::Debug;
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::{Drm, OpenCounts, Retained};
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency_sim::SimDevice;

use crate::input::Input;
use crate::names;
use crate::plant::{Plant, planted};

/// Calls that a caller makes at most.
const MOST_CALLS: u32 = 100;
/// BOs that a caller has at most.
const MOST_BOS: usize = 4;
const PAGE: usize = 4096;

/// Faults that refuse calls; none changes bytes.
const FAULTS: &[&str] = &["enomem", "eio", "eintr", "enodev", "purge"];

/// A BO, and the bytes that everybody should see; `None` is not known.
#[derive(Debug)]
struct Owned {
    bo: Bo,
    newest: Vec<Option<u8>>,
}

/// A user of the library.
#[derive(Debug)]
struct Caller {
    soft: Arc<SimDevice>,
    device: Device,
    bos: Vec<Owned>,
    /// Set if calls may be refused.
    has_faults: bool,
}

/// A caller makes the calls that an input chooses, and gives everything back.
///
/// # Panics
/// If it finds a fault.
pub fn make_all(input: &mut Input<'_>) {
    let mut name = names::choose(input);
    let faults = input.byte() % 4;
    for _ in 0..faults {
        name += &format!(",fault={}@{}", input.of(FAULTS), 1 + u16::from(input.byte()));
    }
    let Ok(soft) = names::open(&name).map(Arc::new) else { return };
    let device = match Device::from_drm(Arc::clone(&soft) as Arc<dyn Drm>) {
        Ok(device) => device,
        Err(Error::Ioctl { .. }) if faults > 0 => return,
        Err(error) => panic!("{name}: {error:?}"),
    };
    device.set_reuse_limit(u64::from(input.byte() % 8) * PAGE as u64);
    let mut caller = Caller { soft, device, bos: Vec::new(), has_faults: faults > 0 };
    for _ in 0..MOST_CALLS {
        if input.is_over() {
            break;
        }
        caller.call(input);
    }
    caller.end();
}

impl Caller {
    fn call(&mut self, input: &mut Input<'_>) {
        if self.bos.is_empty() {
            return self.alloc(input);
        }
        let pick = usize::from(input.byte()) % self.bos.len();
        match input.byte() % 24 {
            0 => self.alloc(input),
            1 => drop(self.bos.swap_remove(pick)),
            2 => {
                let Owned { bo, .. } = self.bos.swap_remove(pick);
                let _ = self.allowed(bo.release());
            }
            3 | 4 => {
                let mode = input.of(MmapMode::ALL);
                let _ = self.allowed(self.bos[pick].bo.map(mode));
            }
            5..9 => self.write(pick, input),
            9..12 => self.read(pick, input),
            12..14 => self.gpu_read(pick, input),
            14..17 => self.gpu_write(pick, input),
            17 => self.show(pick),
            18 | 19 => {
                let mode = input.of(CachingMode::ALL);
                let _ = self.allowed(self.bos[pick].bo.set_caching(mode));
            }
            20 => {
                // An import of what was exported is the same BO.
                let bo = &self.bos[pick].bo;
                if let Some(dma_buf) = self.allowed(bo.export())
                    && let Some(same) = self.allowed(self.device.import(&dma_buf))
                {
                    assert!(same.is_same(bo));
                }
            }
            21 => drop(self.allowed(self.bos[pick].bo.flush())),
            22 => self.give_up_for_a_while(pick, input),
            _ => self.ask_for_nonsense(pick, input),
        }
    }

    /// Nothing, or an answer that is none of a fault in the library: that the platform has no such
    /// thing, or what the device refuses.
    #[track_caller]
    fn allowed<T: Debug>(&self, result: gem_coherency::Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(Error::NotAvailable { .. }) => None,
            Err(Error::Ioctl { errno: Errno::ENOMEM | Errno::EIO | Errno::ENODEV, .. })
                if self.has_faults =>
            {
                None
            }
            Err(error) => panic!("{} on {}: {error:?}", error, self.soft.name()),
        }
    }

    fn alloc(&mut self, input: &mut Input<'_>) {
        if self.bos.len() == MOST_BOS {
            return;
        }
        let size = PAGE * usize::from(1 + input.byte() % 3);
        let caching = (!input.one_in(4)).then(|| input.of(CachingMode::ALL));
        let request = AllocRequest { caching, ..AllocRequest::new(size as u64) };
        let Some(bo) = self.allowed(self.device.alloc(request)) else { return };
        assert_eq!(bo.size(), size as u64);
        self.bos.push(Owned { bo, newest: vec![None; size] });
        // Whatever it held in an earlier life.
        self.store(self.bos.len() - 1, 0, &vec![input.byte(); size]);
    }

    /// A range of the BO, never empty.
    fn range(&self, pick: usize, input: &mut Input<'_>) -> (usize, usize) {
        let size = self.bos[pick].newest.len();
        let offset = usize::from(input.short()) % size;
        let len = 1 + usize::from(input.of(&[0_u16, 7, 63, 64, 199, 4095, 12287]));
        (offset, len.min(size - offset))
    }

    fn write(&mut self, pick: usize, input: &mut Input<'_>) {
        let (offset, len) = self.range(pick, input);
        self.store(pick, offset, &vec![input.byte(); len]);
    }

    fn store(&mut self, pick: usize, offset: usize, data: &[u8]) {
        if planted() == Some(Plant::Stale) && offset % 8 == 1 {
            return self.store_after(pick, offset, data);
        }
        let bo = &self.bos[pick].bo;
        let Some(mut guard) = self.allowed(bo.write(offset as u64, data.len() as u64)) else { return };
        let written = self.allowed(guard.write_at(offset as u64, data)).is_some();
        guard.finish();
        self.note(pick, offset, data, written);
    }

    /// Stores without telling the library, which no caller may do.
    fn store_after(&mut self, pick: usize, offset: usize, data: &[u8]) {
        let bo = &self.bos[pick].bo;
        if let Ok(mapping) = self.soft.map(bo.handle(), MmapMode::Wb, bo.size())
            && mapping.copy_in(offset as u64, data).is_ok()
        {
            self.note(pick, offset, data, true);
        }
    }

    fn note(&mut self, pick: usize, offset: usize, data: &[u8], done: bool) {
        for (known, &new) in self.bos[pick].newest[offset..].iter_mut().zip(data) {
            *known = done.then_some(new);
        }
    }

    fn read(&self, pick: usize, input: &mut Input<'_>) {
        let (offset, len) = self.range(pick, input);
        let bo = &self.bos[pick].bo;
        let Some(guard) = self.allowed(bo.read(offset as u64, len as u64)) else { return };
        let mut seen = vec![0; len];
        if self.allowed(guard.read_at(offset as u64, &mut seen)).is_some() {
            self.check("CPU", pick, offset, &seen);
        }
    }

    #[track_caller]
    fn check(&self, who: &str, pick: usize, offset: usize, seen: &[u8]) {
        let wrong = seen
            .iter()
            .zip(&self.bos[pick].newest[offset..])
            .position(|(seen, newest)| newest.is_some_and(|newest| newest != *seen));
        assert_eq!(wrong.map(|at| at + offset), None, "{who} on {}: the first old byte", self.soft.name());
    }

    fn gpu_read(&self, pick: usize, input: &mut Input<'_>) {
        let bo = &self.bos[pick].bo;
        let submission = Submission { bo, access: Access::Read, mocs: input.of(MocsClass::ALL) };
        let done = match input.one_in(2) {
            true => self.device.submit(&[submission]),
            false => self.device.submit_with(&[submission], |reports| Ok(reports.to_vec())),
        };
        if self.allowed(done).is_none() {
            return;
        }
        let mut seen = vec![0; self.bos[pick].newest.len()];
        if self.allowed(self.soft.gpu_read(bo.handle(), submission.mocs, 0, &mut seen)).is_some() {
            self.check("GPU", pick, 0, &seen);
        }
    }

    fn gpu_write(&mut self, pick: usize, input: &mut Input<'_>) {
        let (offset, len) = self.range(pick, input);
        let data = vec![input.byte(); len];
        let bo = &self.bos[pick].bo;
        let submission = Submission { bo, access: Access::Write, mocs: input.of(MocsClass::ALL) };
        if self.allowed(self.device.submit(&[submission])).is_none() {
            // Nothing reached the GPU.
            return;
        }
        let written = self.soft.gpu_write(bo.handle(), submission.mocs, offset as u64, &data);
        let written = self.allowed(written).is_some();
        self.note(pick, offset, &data, written);
    }

    fn show(&self, pick: usize) {
        let bo = &self.bos[pick].bo;
        let Some(_guard) = self.allowed(bo.prepare_scanout()) else { return };
        let mut seen = vec![0; self.bos[pick].newest.len()];
        // Before the kernel pins it, which may flush, too.
        if self.allowed(self.soft.display_read(bo.handle(), 0, &mut seen)).is_some() {
            self.check("display", pick, 0, &seen);
        }
        let shown = self.allowed(self.soft.set_framebuffer(bo.handle())).is_some()
            && self.allowed(self.soft.pin_display(bo.handle())).is_some();
        if shown && self.allowed(self.soft.display_read(bo.handle(), 0, &mut seen)).is_some() {
            self.check("display, pinned", pick, 0, &seen);
        }
        let _ = self.allowed(self.soft.remove_framebuffer(bo.handle()));
    }

    fn give_up_for_a_while(&mut self, pick: usize, input: &mut Input<'_>) {
        let bo = &self.bos[pick].bo;
        match self.allowed(bo.dont_need()) {
            None => return,
            Some(Retained::Yes) => assert!(matches!(bo.read(0, 1), Err(Error::DontNeed { .. }))),
            // It had no pages: at once.
            Some(Retained::Purged) => return self.forget_purged(pick),
        }
        if input.one_in(2) {
            self.soft.shrink();
        }
        match self.allowed(bo.will_need()) {
            Some(Retained::Yes) => {}
            Some(Retained::Purged) => self.forget_purged(pick),
            // Of no use any more.
            None => drop(self.bos.swap_remove(pick)),
        }
    }

    fn forget_purged(&mut self, pick: usize) {
        let Owned { bo, .. } = self.bos.swap_remove(pick);
        assert!(matches!(bo.read(0, 1), Err(Error::Purged { .. })));
        assert!(matches!(bo.will_need(), Err(Error::Purged { .. })));
    }

    /// Ranges that are none.
    fn ask_for_nonsense(&self, pick: usize, input: &mut Input<'_>) {
        let bo = &self.bos[pick].bo;
        let size = bo.size();
        let (offset, len) =
            input.of(&[(size, 1), (0, size + 1), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)]);
        let refused = |error: Option<Error>| matches!(error, Some(Error::RangeOutOfBounds { .. }));
        assert!(refused(bo.write(offset, len).err()), "{offset:#x} {len:#x}");
        assert!(refused(bo.read(offset, len).err()));
        assert!(refused(bo.mark_written(offset, len).err()));
        assert!(refused(bo.mark_stale(offset, len).err()));
        assert!(
            self.device.alloc(AllocRequest::new(input.of(&[0, u64::MAX, u64::MAX - 4096, 1 << 62]))).is_err()
        );
    }

    fn end(self) {
        let Self { soft, device, bos, has_faults } = self;
        assert_eq!(soft.bus_errors(), 0, "SIGBUS on {}", soft.name());
        drop(bos);
        device.trim();
        // A handle that could not be closed is the device's as long as its file.
        if !has_faults {
            assert_eq!(device.open_counts(), OpenCounts::default(), "on {}", soft.name());
            assert_eq!((soft.objects_alive(), soft.bytes_in_use()), (0, 0), "left on {}", soft.name());
        }
    }
}
