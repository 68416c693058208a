//! Batches that run until a program ends them: requests meanwhile have the same results as on the software i915.

use gem_coherency::Errno;
use gem_coherency::backend::{Addresses, Busy, Drm, Param, Run};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::platform::{EngineClass, by_id};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Domains, Handle, MmapMode};
use gem_coherency_sim::SimDevice;

use crate::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[test!(a_spinner_is_busy_until_it_is_ended_as_on_the_software_i915)];

/// The addresses of the spinner and of the batches beside it.
const SPINNER: u64 = 0x20_0000;
const OTHER: u64 = 0x30_0000;
/// MI_BATCH_BUFFER_END, and MI_ARB_CHECK.
const END: u32 = 0x0500_0000;
const CHECK: u32 = 0x0280_0000;
/// A short and a long wait, in nanoseconds.
const SHORT: i64 = 2_000_000;
const LONG: i64 = 10_000_000_000;

/// The results of the requests.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// The spinner's state while it runs.
    busy: Busy,
    waits: [Option<Errno>; 2],
    read: Option<Errno>,
    /// Waits for batches that end, on the copy engine and after the spinner.
    beside: Option<Errno>,
    behind: Option<Errno>,
    /// The spinner's state after its end, and the wait for the batch after it.
    idle: Busy,
    after: [Option<Errno>; 2],
    hangs: u32,
}

fn errno<T>(done: gem_coherency::Result<T>) -> Option<Errno> {
    done.err().map(|error| error.errno())
}

/// Runs a batch.
fn run(drm: &dyn Drm, batch: Handle, engine: EngineClass, address: u64) {
    let run = Run { objects: &[], batch, len_bytes: 0, engine, addresses: Addresses::Pinned(&[address]) };
    drm.extras().unwrap().run(&run).unwrap();
}

fn outcome(drm: &dyn Drm, is_wide: bool) -> Option<Outcome> {
    use EngineClass::{Copy, Render};
    let page = || {
        let page = drm.create(4096).unwrap();
        let map =
            [MmapMode::Wb, MmapMode::Fixed].map(|mode| drm.map(page.handle, mode, page.size_bytes).ok());
        Some((page.handle, map.into_iter().flatten().next()?))
    };
    let (spinner, map) = page()?;
    let jump = if is_wide {
        [CHECK, 0x1880_0101, SPINNER as u32, 0]
    } else {
        [CHECK, 0x1880_0100, SPINNER as u32, 0]
    };
    let put = |map: &gem_coherency::backend::Mapping, words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        map.copy_in(0, &bytes).unwrap();
        map.perform(LineOp::Flush, LineRange::new(0, 1)).unwrap();
    };
    put(&map, &jump);
    let [(beside, first), (behind, second)] = [page()?, page()?];
    put(&first, &[END, 0]);
    put(&second, &[END, 0]);
    run(drm, spinner, Render, SPINNER);
    let busy = drm.busy(spinner).unwrap();
    let waits = [0, SHORT].map(|time| errno(drm.wait(spinner, time)));
    let read = errno(drm.set_domain(spinner, Domains::WC, Domains::empty()));
    run(drm, beside, Copy, OTHER);
    let waited_beside = errno(drm.wait(beside, LONG));
    run(drm, behind, Render, OTHER + 0x1000);
    let waited_after = errno(drm.wait(behind, SHORT));
    put(&map, &[END]);
    let after = [spinner, behind].map(|batch| errno(drm.wait(batch, LONG)));
    let idle = drm.busy(spinner).unwrap();
    for handle in [spinner, beside, behind] {
        drm.close(handle).unwrap();
    }
    let (beside, behind, hangs) = (waited_beside, waited_after, drm.extras().unwrap().hangs().unwrap());
    Some(Outcome { busy, waits, read, beside, behind, idle, after, hangs })
}

fn a_spinner_is_busy_until_it_is_ended_as_on_the_software_i915(bench: &Bench) -> Skip {
    let node = bench.open();
    let id = node.param(Param::ChipsetId).unwrap();
    let platform = by_id(u16::try_from(id).unwrap()).unwrap();
    if platform.graphics.major < 6 {
        return Some("there is no copy engine before Sandy Bridge".to_owned());
    }
    let is_wide = platform.graphics.major >= 8;
    let name = format!("sim:{},kernel={}", platform.name, node.kernel());
    let real = outcome(&node, is_wide);
    assert_eq!(real, outcome(&SimDevice::open(&format!("{name},gpu=timed")).unwrap(), is_wide));
    let instant = outcome(&SimDevice::open(&name).unwrap(), is_wide);
    assert_ne!(real, instant, "on an instant GPU it hangs at once");
    match real {
        Some(_) => None,
        None => Some("the objects of this platform cannot be mapped".to_owned()),
    }
}
