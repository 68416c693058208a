//! Taking a BO from the reuse cache (`Device::alloc` of a BO that is mapped and has pages), compared with creating one: GEM_CREATE,
//! SET_CACHING, mmap, a store to each page.

use std::cell::RefCell;

use gem_coherency::backend::Mapping;
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{CachingMode, Handle, MmapMode};

use super::size_text;
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "reuse";

/// The default device.
const DEVICE: &str = "sim:glk";
/// Size of a BO in bytes.
const SIZE: u64 = 64 << 10;
/// Number of BOs in a turn.
const COUNT: u64 = 16;

/// A BO made by bare requests.
struct Made {
    handle: Handle,
    mapping: Mapping,
}

/// A way to get a BO.
type Get = fn(&Device) -> Result<Bo, Error>;

/// The BOs that the previous turn left.
#[derive(Default)]
struct Previous {
    bos: Vec<Bo>,
    made: Vec<Made>,
}

impl Previous {
    /// Releases all: to the cache, or to the kernel.
    fn release(&mut self, device: &Device) -> Result<(), Error> {
        self.bos.clear();
        for made in self.made.drain(..) {
            drop(made.mapping);
            device.drm().close(made.handle)?;
        }
        Ok(())
    }
}

/// Allocates a mapped BO through the library.
fn alloc(device: &Device) -> Result<Bo, Error> {
    let bo = device.alloc(AllocRequest::new(SIZE).caching(CachingMode::Cached))?;
    bo.map(MmapMode::Wb)?;
    Ok(bo)
}

/// Allocates a mapped BO through the library, and touches every page.
fn touched(device: &Device) -> Result<Bo, Error> {
    let bo = alloc(device)?;
    let mut guard = bo.write(0, SIZE)?;
    for offset in (0..SIZE).step_by(PAGE_BYTES as usize) {
        guard.write_at(offset, &[1])?;
    }
    guard.finish();
    Ok(bo)
}

/// Makes a mapped object by the requests alone, untracked, and touches every page.
fn make(device: &Device) -> Result<Made, Error> {
    let drm = device.drm();
    let created = drm.create(SIZE)?;
    drm.set_caching(created.handle, CachingMode::Cached)?;
    let mapping = drm.map(created.handle, MmapMode::Wb, created.size_bytes)?;
    for offset in (0..SIZE).step_by(PAGE_BYTES as usize) {
        mapping.copy_in(offset, &[1])?;
    }
    Ok(Made { handle: created.handle, mapping })
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let name = context.device.as_deref().unwrap_or(DEVICE);
    let open = || Device::open(name).map_err(|error| Error::CannotOpen { device: name.to_owned(), error });
    let (reusing, plain) = (open()?, open()?);
    reusing.set_reuse_limit(2 * COUNT * SIZE);
    let previous = RefCell::new(Previous::default());
    // Cached BOs have their pages, like BOs that were used.
    for _ in 0..COUNT {
        let bo = touched(&reusing)?;
        previous.borrow_mut().bos.push(bo);
    }
    for with_release in [false, true] {
        let release = |device: &Device| previous.borrow_mut().release(device);
        let mut rounds = Rounds::new(|| release(&plain));
        let again = |requested: bool, device: &Device| if requested { release(device) } else { Ok(()) };
        let sides: [(_, Get, _); 3] = [
            ("hit", alloc, &reusing),
            ("hit, touched", touched, &reusing),
            ("Device::alloc", touched, &plain),
        ];
        for (side, get, device) in sides {
            let (previous, again) = (&previous, &again);
            rounds.side(side, move || {
                per_operation(COUNT, || {
                    for _ in 0..COUNT {
                        let bo = get(device)?;
                        previous.borrow_mut().bos.push(bo);
                        again(with_release, device)?;
                    }
                    Ok(())
                })
            });
        }
        rounds.side("bare requests", || {
            per_operation(COUNT, || {
                for _ in 0..COUNT {
                    let made = make(&plain)?;
                    previous.borrow_mut().made.push(made);
                    again(with_release, &plain)?;
                }
                Ok(())
            })
        });
        let times = rounds.measure(context.effort)?;
        let case =
            format!("{} on {name}{}", size_text(SIZE), if with_release { ", with the release" } else { "" });
        let target = (!with_release).then_some(20.0);
        found.push(times.line((NAME, &case), "hit", "bare requests", target));
        found.push(times.line((NAME, &case), "hit, touched", "bare requests", None));
        found.push(times.line((NAME, &case), "hit", "Device::alloc", None));
    }
    let stats = reusing.reuse_stats();
    found.notes.push(format!("{NAME}: {} hits, {} misses", stats.hits, stats.misses));
    previous.borrow_mut().release(&plain)
}
