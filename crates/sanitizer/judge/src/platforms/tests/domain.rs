//! Calls that move an object between domains: those without which every flush would have been the same are useless.

use std::collections::BTreeMap;

use gem_coherency::backend::{Drm, ExecObject, Extras};
use gem_coherency::cacheops::{CacheLines as _, LineOp};

use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode, MocsClass};
use gem_coherency_sim::{FlushKind, FoundLine, Instruction, SimDevice};

use super::super::Judge;
use crate::judging::need::Need;

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

/// Returns the verdict on each call of a scenario; `None` if it was not judged. The object is idle and clean at first.
fn judged(device: &str, cached: bool, steps: &[Do]) -> Vec<Option<Need>> {
    let device = SimDevice::open(&format!("sim:{device}")).unwrap();
    device.trace_own();
    let handle = device.create(4096).unwrap().handle;
    let map = device.map(handle, MmapMode::Wb, 4096).unwrap();
    if cached {
        device.set_caching(handle, CachingMode::Cached).unwrap();
    }
    let take = |step: Do| match step {
        Domain(domain, access) => {
            let write = if access == Access::Write { domain } else { Domains::empty() };
            device.set_domain(handle, domain, write).unwrap();
        }
        Finish => device.sw_finish(handle).unwrap(),
        Store(byte) => map.copy_in(0, &[byte; 4]).unwrap(),
        Flush => {
            map.perform(LineOp::Flush, LineRange::new(0, 64)).unwrap();
            for line in 0..64 {
                let (kind, found) = (FlushKind::Flush, FoundLine::Clean);
                device.maintained(&Instruction { object: 1, line, kind, site: 0, found, bytes: [0; 64] });
            }
        }
        Submit(access) => {
            device.execute(&[ExecObject { handle, access }]).unwrap();
        }
        Wait => device.wait(handle, -1).unwrap(),
        GpuWrite(byte) => device.gpu_write(handle, MocsClass::PageTable, 0, &[byte; 4]).unwrap(),
    };
    [Flush, Store(1), Flush, RUN, Wait].into_iter().for_each(take);
    steps.iter().copied().for_each(take);
    let mut judge = Judge::own(device.machine(), device.rules());
    judge.feed(device.take_trace());
    let mut calls: BTreeMap<u64, Option<Need>> = BTreeMap::new();
    for change in judge.take_domain_changes() {
        calls.insert(change.number, (!change.is_open).then(|| change.need()));
    }
    assert_eq!(judge.take_domain_changes(), [], "taken");
    calls.into_values().collect()
}

const NEEDED: Option<Need> = Some(Need::Needed);
const USELESS: Option<Need> = Some(Need::Useless);

#[test]
fn a_call_for_a_write_is_needed_if_the_kernel_flushes_what_is_stored() {
    assert_eq!(judged("glk", false, &[WRITE, Store(2), RUN]), [NEEDED]);
    assert_eq!(judged("glk", false, &[WRITE, RUN]), [USELESS], "no store");
    assert_eq!(judged("glk", false, &[WRITE, Store(2), Flush, RUN]), [USELESS], "the program flushed");
    assert_eq!(judged("glk", false, &[WRITE, Store(2)]), [None], "no submission yet");
    assert_eq!(judged("glk", true, &[WRITE, Store(2), RUN]), [USELESS], "the GPU snoops");
    assert_eq!(judged("tgl", false, &[WRITE, Store(2), RUN]), [USELESS], "an LLC");
}

#[test]
fn a_call_that_may_have_waited_is_needed() {
    for device in ["glk", "tgl"] {
        assert_eq!(judged(device, false, &[RUN, WRITE, Wait, RUN]), [NEEDED]);
        assert_eq!(judged(device, false, &[RUN, Wait, WRITE, RUN]), [USELESS], "waited for before");
        assert_eq!(judged(device, false, &[RUN, READ]), [USELESS], "reads do not wait for reads");
        assert_eq!(judged(device, false, &[Submit(Access::Write), READ]), [NEEDED]);
    }
}

#[test]
fn of_two_calls_that_do_the_same_one_is_useless() {
    assert_eq!(judged("glk", false, &[WRITE, WRITE, Store(2), RUN]), [NEEDED, USELESS]);
    assert_eq!(judged("glk", false, &[READ, WRITE, Store(2), RUN]), [USELESS, NEEDED]);
    assert_eq!(judged("glk", false, &[WRITE, Store(2), READ, RUN]), [NEEDED, USELESS]);
    assert_eq!(judged("tgl", false, &[WRITE, WRITE, RUN]), [USELESS, USELESS], "neither is needed");
}

#[test]
fn a_call_that_flushes_or_orders_is_needed() {
    // The second call leaves the domain of the first one, which makes the kernel flush.
    assert_eq!(judged("glk", false, &[WRITE, Store(2), GTT]), [NEEDED, NEEDED]);
    assert_eq!(judged("glk", false, &[GTT, GTT, RUN]), [NEEDED, USELESS]);
    let written = [Submit(Access::Write), GpuWrite(3), READ];
    assert_eq!(judged("glk", false, &written), [NEEDED]);
}

#[test]
fn the_end_of_a_write_to_no_framebuffer_is_useless() {
    for device in ["glk", "tgl"] {
        assert_eq!(judged(device, false, &[Store(2), Finish]), [USELESS]);
    }
}

#[test]
fn a_call_that_brings_pages_in_is_needed_and_nothing_is_judged_untraced() {
    let device = SimDevice::open("sim:tgl").unwrap();
    let fresh = device.create(4096).unwrap().handle;
    device.set_domain(fresh, Domains::CPU, Domains::CPU).unwrap();
    assert_eq!(device.take_trace().0, []);
    device.trace_own();
    let next = device.create(4096).unwrap().handle;
    device.set_domain(next, Domains::CPU, Domains::CPU).unwrap();
    device.set_domain(next, Domains::CPU, Domains::CPU).unwrap();
    let traced = device.take_trace();
    let called = traced.0.iter().filter_map(|one| super::super::made(&one.event));
    assert_eq!(called.map(|made| made.call).collect::<Vec<_>>(), ["DRM_IOCTL_I915_GEM_SET_DOMAIN"; 2]);
    let mut judge = Judge::own(device.machine(), device.rules());
    judge.feed(traced);
    let needs: Vec<_> = judge.take_domain_changes().iter().map(|change| change.need()).collect();
    assert_eq!(needs, [Need::Needed, Need::Useless]);
}

#[test]
fn a_call_whose_flush_may_have_found_an_unseen_store_is_precautionary() {
    let of = |opens: bool| {
        let device = SimDevice::open("sim:glk").unwrap();
        device.trace_own();
        let handle = device.create(4096).unwrap().handle;
        let submit = || device.execute(&[ExecObject { handle, access: Access::Read }]).unwrap();
        submit();
        device.wait(handle, -1).unwrap();
        device.set_domain(handle, Domains::CPU, Domains::CPU).unwrap();
        if opens {
            device.opened(1, 0, 0);
        }
        submit();
        let mut judge = Judge::own(device.machine(), device.rules());
        judge.feed(device.take_trace());
        let changes = judge.take_domain_changes();
        changes.last().map(|change| (change.is_open, change.need()))
    };
    assert_eq!(of(true), Some((false, Need::Precautionary)));
    assert_eq!(of(false), Some((false, Need::Useless)), "no store");
}
