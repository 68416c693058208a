//! Every reachable caching state of an object, with the calls that lead there.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::kernel::{Creation, Event, KernelRules, Snapshot, step};
use gem_coherency::vocabulary::{Access, CachingMode};

use super::call::Call;
use super::{mended, shapes};

/// The shortest ways from a fresh object to every state, its own first.
fn paths(machine: Machine, rules: &KernelRules, start: Snapshot) -> Vec<Vec<Event>> {
    let mut seen: HashMap<Snapshot, Vec<Event>> = HashMap::from([(start, Vec::new())]);
    let mut order = vec![start];
    let mut left = VecDeque::from([start]);
    while let Some(state) = left.pop_front() {
        let path = seen[&state].clone();
        for &event in Event::ALL.iter().filter(|&&event| calls_for(machine, event).is_some()) {
            let Ok(done) = step(machine.caps, rules, state, event) else { continue };
            if let Entry::Vacant(unseen) = seen.entry(done.next) {
                unseen.insert([path.as_slice(), &[event]].concat());
                order.push(done.next);
                left.push_back(done.next);
            }
        }
    }
    order.iter().map(|state| seen[state].clone()).collect()
}

/// The calls that make `event` happen to the object named 2; `None` if no call does.
pub fn calls_for(machine: Machine, event: Event) -> Option<Vec<Call>> {
    let call = |name| Call::first(shapes::named(name));
    let domain = |domain, access| {
        let write = if access == Access::Write { domain } else { 0 };
        call("GEM_SET_DOMAIN").with("read_domains", domain).with("write_domain", write)
    };
    Some(match event {
        Event::SetDomainCpu(access) => vec![domain(1, access)],
        Event::SetDomainGtt(access) => vec![domain(0x40, access)],
        Event::SetDomainWc(access) => vec![domain(0x80, access)],
        Event::SetCaching(CachingMode::None) => vec![call("GEM_SET_CACHING")],
        Event::SetCaching(CachingMode::Cached) => vec![call("GEM_SET_CACHING").with("caching", 1)],
        Event::SetCaching(CachingMode::Display) => vec![call("GEM_SET_CACHING").with("caching", 2)],
        Event::Pread => vec![call("GEM_PREAD")],
        Event::Pwrite { partial: false, awake: true } => vec![call("GEM_PWRITE")],
        Event::Pwrite { partial: true, awake: true } => vec![call("GEM_PWRITE").with("size", 100)],
        Event::Exec(Access::Read) => vec![call("GEM_EXECBUFFER2_WR")],
        Event::Exec(Access::Write) => {
            let mut call = call("GEM_EXECBUFFER2_WR");
            // The second list.
            call.picks[0] = 1;
            vec![call]
        }
        Event::Fault => {
            let mode = if machine.caps.contains(Caps::DISCRETE) { 4 } else { 2 };
            vec![call("GEM_MMAP_OFFSET").with("flags", mode), call("mmap"), call("load"), call("munmap")]
        }
        Event::AddFramebuffer if shapes::has_display() => vec![call("MODE_ADDFB2")],
        Event::RemoveFramebuffer if shapes::has_display() => vec![call("MODE_RMFB")],
        Event::DirtyFb if shapes::has_display() => vec![call("MODE_DIRTYFB")],
        Event::Acquire
        | Event::Release
        | Event::Pwrite { .. }
        | Event::AddFramebuffer
        | Event::RemoveFramebuffer
        | Event::PinDisplay
        | Event::UnpinDisplay
        | Event::SwFinish
        | Event::DirtyFb
        | Event::DmaBufBegin(_)
        | Event::DmaBufEnd
        | Event::Suspend
        | Event::Hibernate
        | Event::Resume { .. } => return None,
    })
}

/// Every call with one field at a time at each of its values, on every object state, followed by calls
/// that show what state it left; a touch through the aperture on every state likewise; and the calls that ask
/// only for the object's size on one large object.
pub fn enumerated(machine: Machine, rules: &KernelRules) -> impl Iterator<Item = Vec<Call>> {
    let probes = probes(machine);
    let after = probes.clone();
    let on_states = prefixes(machine, rules).into_iter().flat_map(move |prefix| {
        let probes = probes.clone();
        variations()
            .filter(|call| !is_about_size(call))
            .map(move |call| [prefix.as_slice(), &[call], &probes].concat())
    });
    let through_aperture = prefixes(machine, rules)
        .into_iter()
        .map(move |prefix| [prefix.as_slice(), &mended::touched_aperture(), &after].concat());
    let large = Call::first(shapes::named("GEM_CREATE_EXT")).with("size", 65537);
    let shown = ["MODE_GETFB2", "MODE_RMFB"].map(|name| Call::first(shapes::named(name)));
    let on_size = variations()
        .filter(is_about_size)
        .map(move |call| [&[large.clone(), call], shown.as_slice()].concat());
    on_states.chain(through_aperture).chain(on_size)
}

/// Returns whether a call depends only on the size of an object, in which a picture's pixels must lie.
fn is_about_size(call: &Call) -> bool {
    call.shape.name.starts_with("MODE_ADDFB2_")
}

/// A suspend on every object state, followed by calls that show what state it left.
pub fn suspended(machine: Machine, rules: &KernelRules) -> impl Iterator<Item = Vec<Call>> {
    let probes = probes(machine);
    let suspend = Call::first(shapes::named("suspend"));
    prefixes(machine, rules)
        .into_iter()
        .map(move |prefix| [prefix.as_slice(), std::slice::from_ref(&suspend), &probes].concat())
}

/// The ways to make an object that userspace may choose, each with its call.
fn creations(machine: Machine, rules: &KernelRules) -> Vec<(Creation, Call)> {
    let with_pat = |index: u8| {
        let mut create = Call::first(shapes::named("GEM_CREATE_EXT"));
        create.picks[3] = shapes::objects::PAT_0 + u16::from(index);
        (Creation::UserWithPat(index), create)
    };
    let indices = if machine.caps.contains(Caps::PAT_AT_CREATE) { 0..6 } else { 0..0 };
    let is_made = |creation| Snapshot::created(machine.caps, rules, creation).is_ok();
    std::iter::once((Creation::User, Call::first(shapes::named("GEM_CREATE"))))
        .chain(indices.map(with_pat).filter(|(creation, _)| is_made(*creation)))
        .collect()
}

/// The calls that lead to each state of an object, and to one of the process's memory.
fn prefixes(machine: Machine, rules: &KernelRules) -> Vec<Vec<Call>> {
    let user = vec![Call::first(shapes::named("GEM_USERPTR"))];
    let from = |(creation, create): (Creation, Call)| {
        let start = Snapshot::created(machine.caps, rules, creation).expect("objects can be created");
        paths(machine, rules, start).into_iter().map(move |path| {
            let events = path.into_iter().filter_map(|event| calls_for(machine, event));
            [vec![create.clone()], events.flatten().collect()].concat()
        })
    };
    creations(machine, rules).into_iter().flat_map(from).chain([user]).collect()
}

/// Calls whose flushes, and whose errors, differ by the state that an object is in.
fn probes(machine: Machine) -> Vec<Call> {
    [
        Event::SetDomainCpu(Access::Read),
        Event::SetDomainGtt(Access::Write),
        Event::SetDomainCpu(Access::Write),
        Event::SetDomainWc(Access::Read),
    ]
    .into_iter()
    .filter_map(|event| calls_for(machine, event))
    .flatten()
    .collect()
}

/// Every call, with one field at a time at each of its values.
pub fn variations() -> impl Iterator<Item = Call> {
    shapes::chosen().filter(|shape| shape.weight > 0).flat_map(|shape| {
        let first = Call::first(shape);
        let others = shape.fields.iter().enumerate().flat_map({
            let first = first.clone();
            move |(index, field)| {
                let first = first.clone();
                (1..field.values.len()).map(move |pick| {
                    let mut call = first.clone();
                    call.picks[index] = pick;
                    call
                })
            }
        });
        std::iter::once(first).chain(others)
    })
}
