//! Random sequences of the steps that a device can make.

use gem_coherency::cacheops::LineOp;
use gem_coherency::platform::{Call, Caps, Machine, mocs_class};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::step::{Domain, LINES, OBJECTS, Spot, Step, WORDS};

/// Steps of one sequence, at most.
const LONGEST: usize = 60;

/// Returns the MOCS entry by which reads go past the LLC, if the machine has one.
pub fn past_llc(machine: &Machine) -> Option<u8> {
    (0..64).find(|&entry| mocs_class(machine, entry) == MocsClass::BypassLlc)
}

/// Sequences for a machine.
pub fn sequences(machine: &Machine) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(steps(machine), 1..LONGEST)
}

fn spot() -> impl Strategy<Value = Spot> {
    (0..OBJECTS, 0..LINES.len(), 0..WORDS.len()).prop_map(|(object, line, word)| Spot { object, line, word })
}

/// The steps with their weights.
fn steps(machine: &Machine) -> Union<BoxedStrategy<Step>> {
    let (stored, mut loaded) = (modes(machine), modes(machine));
    if past_llc(machine).is_some() {
        // It is not known whether a load through the aperture writes a dirty line of the LLC back. Reads past the LLC
        // would tell.
        loaded.retain(|&mode| mode != MmapMode::Gtt);
    }
    let mut steps = vec![
        (8, (spot(), select(loaded)).prop_map(|(spot, mode)| Step::Load(spot, mode)).boxed()),
        (10, (spot(), select(stored)).prop_map(|(spot, mode)| Step::Store(spot, mode)).boxed()),
        (
            5,
            (spot(), select(vec![LineOp::Flush, LineOp::WriteBack]))
                .prop_map(|(spot, op)| Step::Line(spot, op))
                .boxed(),
        ),
        (2, Just(Step::Fence).boxed()),
        (3, set_domain().boxed()),
        (6, spot().prop_map(Step::GpuRead).boxed()),
        (6, spot().prop_map(Step::GpuStore).boxed()),
        (3, (spot(), spot()).prop_filter_map("one object", copy).boxed()),
        (1, (0..OBJECTS).prop_map(Step::Renew).boxed()),
    ];
    if machine.refusal(Call::PreadPwrite).is_none() {
        steps.push((3, spot().prop_map(Step::Pread).boxed()));
        steps.push((3, spot().prop_map(Step::Pwrite).boxed()));
        steps.push((1, spot().prop_map(Step::PwriteLine).boxed()));
    }
    if machine.refusal(Call::SetCaching).is_none() {
        let modes = select(CachingMode::ALL.to_vec());
        let set = (0..OBJECTS, modes).prop_map(|(object, mode)| Step::SetCaching(object, mode));
        steps.push((2, set.boxed()));
    }
    if past_llc(machine).is_some() {
        steps.push((6, spot().prop_map(Step::GpuReadPastLlc).boxed()));
    }
    Union::new_weighted(steps)
}

/// The modes in which objects are mapped.
fn modes(machine: &Machine) -> Vec<MmapMode> {
    let mut modes = vec![MmapMode::Wb];
    // On Meteor Lake it is not known whether uncached accesses look into the CPU's own cache.
    if !machine.caps.contains(Caps::PAT_AT_CREATE) {
        modes.push(MmapMode::Wc);
        modes.extend(machine.caps.contains(Caps::APERTURE).then_some(MmapMode::Gtt));
    }
    modes
}

fn set_domain() -> impl Strategy<Value = Step> {
    let domains = select(vec![Domain::Cpu, Domain::Gtt, Domain::Wc]);
    (0..OBJECTS, domains, select(vec![Access::Read, Access::Write]))
        .prop_map(|(object, domain, access)| Step::SetDomain(object, domain, access))
}

/// A copy between two objects: what a copy within one reads, if its rows overlap, is not defined.
fn copy((to, from): (Spot, Spot)) -> Option<Step> {
    (to.object != from.object).then_some(Step::GpuCopy(to, from))
}
