//! The state of a new object: level, coherency, dirty bit, domains.

use super::*;

#[track_caller]
fn fresh(
    under: Under,
    creation: Creation,
    level: CacheLevel,
    coherent: u8,
    dirty: bool,
    read: Domains,
    write: Domains,
) {
    let object = under.created(creation);
    let found =
        (object.level, object.coherent.bits(), object.dirty, object.read_domains, object.write_domain);
    assert_eq!(found, (level, coherent, dirty, read, write), "{} {creation:?}", under.name);
}

#[test]
fn coherency_is_a_function_of_llc_and_level() {
    let both = Coherency::READ | Coherency::WRITE;
    let coherency = gem_coherency_policy::policy::coherency;
    for under in every(&[LLC, BYPASS, WT]) {
        assert_eq!(coherency(under.caps, NONE), Coherency::READ, "{}", under.name);
    }
    for under in every(&[NON_LLC, NEITHER, DISCRETE]) {
        assert_eq!(coherency(under.caps, NONE), Coherency::empty(), "{}", under.name);
    }
    for under in every(&[LLC, BYPASS, WT, NON_LLC, NEITHER, DISCRETE]) {
        for level in [LLC_LEVEL, CacheLevel::L3Llc, WT_LEVEL] {
            assert_eq!(coherency(under.caps, level), both, "{} {level}", under.name);
        }
    }
}

#[test]
fn user_objects_start_cached_on_llc_and_dirty_elsewhere() {
    for under in every(&[LLC, BYPASS, WT]) {
        fresh(under, Creation::User, LLC_LEVEL, 3, false, CPU, CPU);
    }
    for under in every(&[NON_LLC, NEITHER]) {
        fresh(under, Creation::User, NONE, 0, true, CPU, CPU);
    }
    for under in every(&[DISCRETE]) {
        fresh(under, Creation::User, LLC_LEVEL, 3, false, CPU, CPU);
        fresh(under, Creation::Local, NONE, 0, false, WC, WC);
    }
}

#[test]
fn meteor_lake_objects_start_cached_without_an_llc() {
    let mtl = Under::new("mtl", 6, 12);
    assert!(!mtl.caps.contains(Caps::LLC));
    fresh(mtl, Creation::User, LLC_LEVEL, 3, false, CPU, CPU);
    fresh(mtl, Creation::Internal, NONE, 0, true, CPU, CPU);
}

#[test]
fn a_pat_index_counts_as_coherent_unless_it_is_the_uncached_one() {
    let mtl = Under::new("mtl", 6, 12);
    for (index, coherent, dirty) in [(0, 3, false), (1, 3, false), (2, 0, true), (3, 3, false), (4, 3, false)]
    {
        let object = mtl.created(Creation::UserWithPat(index));
        assert_eq!((object.coherent.bits(), object.dirty), (coherent, dirty), "index {index}");
        assert_eq!(object.user_pat, Some(index));
    }
    let refused = |under: Under, index| {
        Snapshot::created(under.caps, &under.rules, Creation::UserWithPat(index)).unwrap_err().errno
    };
    assert_eq!(refused(mtl, 5), Some(gem_coherency_policy::Errno::EINVAL));
    assert_eq!(refused(Under::new("tgl", 6, 12), 3), Some(gem_coherency_policy::Errno::ENODEV));
    assert_eq!(refused(Under::new("tgl", 6, 1), 3), Some(gem_coherency_policy::Errno::EINVAL));
}

#[test]
fn userptr_objects_are_cached_everywhere_but_where_nothing_snoops() {
    for under in every(&[LLC, BYPASS, WT, NON_LLC]) {
        fresh(under, Creation::Userptr, LLC_LEVEL, 3, false, CPU, CPU);
    }
    for under in every(&[NEITHER]) {
        let refusal = Snapshot::created(under.caps, &under.rules, Creation::Userptr).unwrap_err();
        assert_eq!((refusal.errno, refusal.rule), (Some(gem_coherency_policy::Errno::ENODEV), Rule::NoSnoop));
    }
}

#[test]
fn imports_are_neither_coherent_nor_dirty_even_on_llc() {
    for under in every(&[LLC, BYPASS, WT, NON_LLC, NEITHER, DISCRETE]) {
        let object = under.created(Creation::Import);
        assert_eq!((object.coherent, object.dirty), (Coherency::empty(), false), "{}", under.name);
        assert_eq!((object.read_domains, object.write_domain), (GTT, NO), "{}", under.name);
    }
}

#[test]
fn a_zeroed_pat_index_makes_imports_read_back_as_cached_on_gen12() {
    for (name, level) in
        [("rkl", LLC_LEVEL), ("adls", LLC_LEVEL), ("icl", NONE), ("glk", NONE), ("mtl", NONE)]
    {
        assert_eq!(Under::new(name, 6, 12).created(Creation::Import).level, level, "{name}");
    }
    for name in ["rkl", "adls"] {
        assert_eq!(Under::new(name, 6, 1).created(Creation::Import).level, NONE, "{name}");
    }
}

#[test]
fn internal_and_stolen_objects_follow_the_llc() {
    for under in every(&[LLC, BYPASS, WT]) {
        fresh(under, Creation::Internal, LLC_LEVEL, 3, false, CPU, CPU);
        fresh(under, Creation::Stolen, LLC_LEVEL, 3, false, CPU | GTT, NO);
    }
    for under in every(&[NON_LLC, NEITHER]) {
        fresh(under, Creation::Internal, NONE, 0, true, CPU, CPU);
        fresh(under, Creation::Stolen, NONE, 0, false, CPU | GTT, NO);
    }
}

#[test]
fn a_physical_copy_returns_to_the_cpu_domain_and_is_dirty_without_llc() {
    for under in every(&[NON_LLC]) {
        fresh(under, Creation::Phys, NONE, 0, true, CPU, CPU);
        assert!(under.created(Creation::Phys).pages);
    }
}

#[test]
fn an_old_kernel_marked_discrete_objects_dirty() {
    let caps = Under::new("dg1", 6, 1).caps;
    let old = KernelRules::of(KernelVersion::new(5, 15)).unwrap();
    let new = KernelRules::of(KernelVersion::new(6, 1)).unwrap();
    let imported = |rules| Snapshot::created(caps, rules, Creation::Internal).unwrap().dirty;
    assert!(imported(&old) && !imported(&new));
}
