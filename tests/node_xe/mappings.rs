//! Objects of the caller's with several mappings of the GPU's.

use gem_coherency::backend::Mapping;
use gem_coherency::backend::mapping::Counted;
use gem_coherency::device::{AdoptRequest, Contents};
use gem_coherency::vocabulary::{Agent, CacheLevel, Handle};
use gem_coherency::{
    Access, Bo, CachingMode, Device, Errno, Error, MmapMode, MocsClass, Submission, Verdict, xe,
};
use memmap2::MmapOptions;

use super::{SIZE, alloc, mapping, refused};

/// Returns an object of a caching mode that the library does not know, and its handle.
fn unknown_object(device: &Device, mode: CachingMode) -> (Handle, xe::Object) {
    let rules = device.xe().unwrap();
    let object = rules.create(&rules.choose_mode(mode, SIZE).unwrap().create.unwrap()).unwrap();
    (device.drm().create_cached(SIZE, mode).unwrap().handle, object)
}

/// Returns the PAT indices by which VM_BIND accepts an object.
fn accepted(rules: &xe::Device, object: &xe::Object) -> Vec<u16> {
    let is_bound = |&pat: &u16| rules.bind(&[xe::Bind::map(object, 0, pat)], false).is_ok();
    rules.pat.indices().map(|(pat, _)| pat).filter(is_bound).collect()
}

/// Returns what the library does before the display reads what the GPU wrote through any of these mappings.
fn before_display(rules: &xe::Device, object: &xe::Object, indices: &[u16]) -> Verdict {
    let (gpu, display) = (Agent::Gpu, Agent::Display);
    let decide =
        |&pat| rules.needs_flush(xe::Memory::Object(object), pat, gpu, display, xe::When::AfterFence).verdict;
    // The GPU's own caches are flushed by the batch.
    match indices.iter().map(decide).any(|verdict| verdict == xe::Verdict::Flush) {
        true => Verdict::Flush,
        false => Verdict::NotNeeded,
    }
}

pub(super) fn are_joined(device: &Device) {
    let rules = device.xe().unwrap();
    let write = |bo: &Bo| {
        let write = Submission { bo, access: Access::Write, mocs: MocsClass::PageTable };
        device.submit_with(&[write], |_| Ok(())).unwrap();
        bo.prepare_scanout().unwrap().report().decision.verdict
    };
    for mode in [CachingMode::None, CachingMode::Cached] {
        let (handle, object) = unknown_object(device, mode);
        let indices = accepted(&rules, &object);
        let level = |pat| rules.level(&object, pat).unwrap();
        for (&one, &other) in indices.iter().flat_map(|one| indices.iter().map(move |other| (one, other))) {
            let joined = xe::most_cached(level(one), level(other));
            let adopt = || AdoptRequest::new(handle, SIZE).contents(Contents::New);
            // Told at once; the mapping of the CPU follows from the creation, whatever the level.
            let bo = device.adopt(adopt().bound(object, one).bound(object, other)).unwrap();
            assert_eq!(bo.level(), joined, "{mode} {one} {other}");
            if mode == CachingMode::None {
                assert_eq!(write(&bo), before_display(&rules, &object, &[one, other]), "{one} {other}");
            }
            bo.write_bytes(0, b"bytes").unwrap();
            assert_eq!(bo.map_mode(), mapping(device, mode), "{mode} {one} {other}");
            drop(bo);
            // One after the other, by either way.
            let bo = device.adopt(adopt().bound(object, one)).unwrap();
            assert_eq!(bo.level(), level(one), "{mode} {one}");
            if mode == CachingMode::None {
                assert_eq!(write(&bo), before_display(&rules, &object, &[one]), "{one}");
            }
            match other % 2 {
                0 => bo.bound_by(other).unwrap(),
                _ => assert!(device.adopt(adopt().bound(object, other)).unwrap().is_same(&bo)),
            }
            assert_eq!(bo.level(), joined, "{mode} {one} {other}");
            if mode == CachingMode::None {
                assert_eq!(write(&bo), before_display(&rules, &object, &[one, other]), "{one} {other}");
            }
            // Neither a refused request nor another mapping lowers it.
            refused(bo.set_caching(CachingMode::None), "when it is created");
            bo.bound_by(one).unwrap();
            assert_eq!(bo.level(), joined, "{mode} {one} {other}");
        }
        device.drm().close(handle).unwrap();
    }
}

pub(super) fn are_refused(device: &Device) {
    let rules = device.xe().unwrap();
    let (handle, object) = unknown_object(device, CachingMode::Cached);
    let adopt = || AdoptRequest::new(handle, SIZE);
    let (snooping, wrong) = (accepted(&rules, &object)[0], 1 << 15);
    let plain = |(_, entry): &(u16, &xe::PatEntry)| !entry.coherency.snoops();
    let (not_snooping, _) = rules.pat.indices().find(plain).unwrap();
    for (index, why) in [(not_snooping, "the GPU must snoop it"), (wrong, "PAT index 32768")] {
        let error = device.adopt(adopt().bound(object, snooping).bound(object, index)).unwrap_err();
        assert_eq!(error.errno(), Errno::EINVAL, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    // A request that contradicts itself.
    let shown = xe::Object { flags: xe::CreateFlags::SCANOUT, ..object };
    for (request, why) in [
        (adopt().bound(object, snooping).bound(shown, snooping), "about the same object"),
        (adopt().level(CacheLevel::None).bound(object, snooping), "follows from its mappings"),
    ] {
        let error = device.adopt(request).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let bo = device.adopt(adopt().bound(object, snooping)).unwrap();
    let level = bo.level();
    for index in [not_snooping, wrong] {
        assert_eq!(bo.bound_by(index).unwrap_err().errno(), Errno::EINVAL);
        assert_eq!(device.adopt(adopt().bound(object, index)).unwrap_err().errno(), Errno::EINVAL);
    }
    let error = device.adopt(adopt().bound(shown, snooping)).unwrap_err();
    assert!(matches!(error, Error::AdoptedOtherwise { .. }), "{error:?}");
    let other = MmapMode::ALL.iter().find(|&&mode| mode != mapping(device, CachingMode::Cached)).unwrap();
    let pages = MmapOptions::new().len(SIZE as usize).map_anon().unwrap();
    let mapped = Mapping::from_kernel(handle, pages.into(), *other, Counted::new(&Default::default()));
    let error = device.adopt(adopt().bound(object, snooping).mapped(mapped)).unwrap_err();
    assert!(error.to_string().contains("the mode follows from the object's creation"), "{error}");
    assert_eq!(bo.level(), level);
    drop(bo);
    device.drm().close(handle).unwrap();
    // An object of the library's that the caller binds, too.
    let device = Device::open(device.drm().name()).unwrap();
    device.set_reuse_limit(1 << 20);
    alloc(&device, CachingMode::None).bound_by(accepted(&rules, &object)[0]).unwrap();
    alloc(&device, CachingMode::None);
    assert_eq!(device.reuse_stats().hits, 0);
}
