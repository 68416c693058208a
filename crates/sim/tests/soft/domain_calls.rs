//! Which calls that move an object between domains are called useless: those without which every flush would have been the same.

use gem_coherency::drm::{Drm, ExecObject};
use gem_coherency::vocabulary::{Access, CachingMode, Domains};

use super::Page;

/// What happens to the object of a scenario.
#[derive(Clone, Copy)]
enum Do {
    /// SET_DOMAIN, for writes, too.
    Domain(Domains, Access),
    /// SW_FINISH.
    Finish,
    /// A store of this byte.
    Store(u8),
    /// The program's own flush of the line.
    Flush,
    /// A submission.
    Submit(Access),
    /// GEM_WAIT for the object.
    Wait,
    /// A write by the GPU.
    GpuWrite(u8),
}
use Do::{Domain, Finish, Flush, GpuWrite, Store, Submit, Wait};

const READ: Do = Domain(Domains::CPU, Access::Read);
const WRITE: Do = Domain(Domains::CPU, Access::Write);
const GTT: Do = Domain(Domains::GTT, Access::Write);
const RUN: Do = Submit(Access::Read);

/// Returns whether each call of a scenario was useful; `None` if it was not judged. The object is idle and clean at first.
fn judged(device: &str, cached: bool, steps: &[Do]) -> Vec<Option<bool>> {
    let page = Page::new(device);
    if cached {
        page.device.set_caching(page.handle(), CachingMode::Cached).unwrap();
    }
    let take = |step: Do| match step {
        Domain(domain, access) => {
            let write = if access == Access::Write { domain } else { Domains::empty() };
            page.device.set_domain(page.handle(), domain, write).unwrap();
        }
        Finish => page.device.sw_finish(page.handle()).unwrap(),
        Store(byte) => page.store(&[byte; 4]),
        Flush => page.flush(),
        Submit(access) => {
            page.device.execute(&[ExecObject { handle: page.handle(), access }]).unwrap();
        }
        Wait => page.device.wait(page.handle(), -1).unwrap(),
        GpuWrite(byte) => page.gpu_writes(&[byte; 4]),
    };
    [Store(1), Flush, RUN, Wait].into_iter().for_each(take);
    page.device.watch(true);
    steps.iter().copied().for_each(take);
    let mut calls: Vec<(u64, Option<bool>)> = Vec::new();
    for call in page.device.domain_calls() {
        match calls.iter_mut().find(|(number, _)| *number == call.number) {
            Some((_, useful)) => *useful = call.useful,
            None => calls.push((call.number, call.useful)),
        }
    }
    assert_eq!(page.device.domain_calls(), [], "taken");
    calls.into_iter().map(|(_, useful)| useful).collect()
}

const USEFUL: Option<bool> = Some(true);
const USELESS: Option<bool> = Some(false);

#[test]
fn a_call_for_a_write_is_useful_if_the_kernel_flushes_what_is_stored() {
    assert_eq!(judged("glk", false, &[WRITE, Store(2), RUN]), [USEFUL]);
    assert_eq!(judged("glk", false, &[WRITE, RUN]), [USELESS], "no store");
    assert_eq!(judged("glk", false, &[WRITE, Store(2), Flush, RUN]), [USELESS], "the program flushed");
    assert_eq!(judged("glk", false, &[WRITE, Store(2)]), [None], "no submission yet");
    assert_eq!(judged("glk", true, &[WRITE, Store(2), RUN]), [USELESS], "the GPU snoops");
    assert_eq!(judged("tgl", false, &[WRITE, Store(2), RUN]), [USELESS], "an LLC");
}

#[test]
fn a_call_that_may_have_waited_is_useful() {
    for device in ["glk", "tgl"] {
        assert_eq!(judged(device, false, &[RUN, WRITE, Wait, RUN]), [USEFUL]);
        assert_eq!(judged(device, false, &[RUN, Wait, WRITE, RUN]), [USELESS], "waited for before");
        assert_eq!(judged(device, false, &[RUN, READ]), [USELESS], "reads do not wait for reads");
        assert_eq!(judged(device, false, &[Submit(Access::Write), READ]), [USEFUL]);
    }
}

#[test]
fn of_two_calls_that_do_the_same_one_is_useless() {
    assert_eq!(judged("glk", false, &[WRITE, WRITE, Store(2), RUN]), [USEFUL, USELESS]);
    assert_eq!(judged("glk", false, &[READ, WRITE, Store(2), RUN]), [USELESS, USEFUL]);
    assert_eq!(judged("glk", false, &[WRITE, Store(2), READ, RUN]), [USEFUL, USELESS]);
    assert_eq!(judged("tgl", false, &[WRITE, WRITE, RUN]), [USELESS, USELESS], "neither is needed");
}

#[test]
fn a_call_that_flushes_or_orders_is_useful() {
    // The second call leaves the domain of the first one, which makes the kernel flush.
    assert_eq!(judged("glk", false, &[WRITE, Store(2), GTT]), [USEFUL, USEFUL]);
    assert_eq!(judged("glk", false, &[GTT, GTT, RUN]), [USEFUL, USELESS]);
    let written = [Submit(Access::Write), GpuWrite(3), READ];
    assert_eq!(judged("glk", false, &written), [USEFUL]);
}

#[test]
fn the_end_of_a_write_to_no_framebuffer_is_useless() {
    for device in ["glk", "tgl"] {
        assert_eq!(judged(device, false, &[Store(2), Finish]), [USELESS]);
    }
}

#[test]
fn a_call_that_brings_pages_in_is_useful_and_nothing_is_judged_unwatched() {
    let device = super::sim("tgl");
    let fresh = device.create(4096).unwrap().handle;
    device.set_domain(fresh, Domains::CPU, Domains::CPU).unwrap();
    assert_eq!(device.domain_calls(), []);
    device.watch(true);
    let next = device.create(4096).unwrap().handle;
    device.set_domain(next, Domains::CPU, Domains::CPU).unwrap();
    device.set_domain(next, Domains::CPU, Domains::CPU).unwrap();
    let calls = device.domain_calls();
    assert_eq!(calls.iter().map(|call| call.useful).collect::<Vec<_>>(), [USEFUL, USELESS]);
    assert!(calls.iter().all(|call| call.call == "DRM_IOCTL_I915_GEM_SET_DOMAIN"), "{calls:?}");
}
