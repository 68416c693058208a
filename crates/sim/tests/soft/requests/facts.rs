//! Facts that the driver reports about itself and the device, and requests that are gone.

use bytemuck::cast_slice;
use gem_coherency::Errno;
use gem_coherency_uapi::drm::{DRM_IOCTL_VERSION, drm_version};
use gem_coherency_uapi::i915_facts::*;
use gem_coherency_uapi::i915_query::*;

use crate::requests::caller::{ARGS, Caller, LIST, READ_ONLY};

#[test]
fn version_copies_what_fits_and_says_how_much_there_is() {
    let mut caller = Caller::new("tgl");
    let args = drm_version { name_len: 2, name: LIST, date_len: 9, desc_len: 0, ..Default::default() };
    let (errno, args) = caller.on(2, DRM_IOCTL_VERSION, args);
    assert_eq!((errno, args.name_len, args.date_len, args.desc_len), (None, 4, 1, 14));
    let mut name = [7; 4];
    caller.process.load(LIST, &mut name).unwrap();
    assert_eq!(&name, b"i9\0\0");
    let args = drm_version { name_len: 4, name: READ_ONLY, desc_len: 3, ..Default::default() };
    let (errno, args) = caller.on(2, DRM_IOCTL_VERSION, args);
    assert_eq!(
        (errno, args.name_len, args.desc_len),
        (Some(Errno::EFAULT), 4, 3),
        "what follows is as it was"
    );
}

#[test]
fn parameters_are_the_platforms() {
    let case = |name: &str, param, expected| assert_eq!(Caller::new(name).param(param), expected, "{name}");
    case("tgl", I915_PARAM_NUM_FENCES_AVAIL, Ok(32));
    case("dg2", I915_PARAM_NUM_FENCES_AVAIL, Ok(0));
    case("bdw", I915_PARAM_HAS_SCHEDULER, Ok(27));
    case("skl", I915_PARAM_HAS_SCHEDULER, Ok(31));
    case("hsw", I915_PARAM_HAS_SCHEDULER, Ok(0));
    case("hsw", I915_PARAM_CMD_PARSER_VERSION, Ok(10));
    case("icl", I915_PARAM_HAS_BSD2, Ok(1));
    case("jsl", I915_PARAM_HAS_BSD2, Ok(0));
    case("tgl", I915_PARAM_HAS_CONTEXT_FREQ_HINT, Ok(-22));
    case("tgl,kernel=6.1", I915_PARAM_HAS_CONTEXT_FREQ_HINT, Err(Errno::EINVAL));
    case("tgl", I915_PARAM_PXP_STATUS, Ok(2));
    case("icl", I915_PARAM_PXP_STATUS, Err(Errno::ENODEV));
    case("tgl", I915_PARAM_HUC_STATUS, Err(Errno::EOPNOTSUPP));
    case("bdw", I915_PARAM_HUC_STATUS, Err(Errno::ENODEV));
    case("mtl", I915_PARAM_SLICE_MASK, Err(Errno::EINVAL));
    case("snb", I915_PARAM_SLICE_MASK, Err(Errno::ENODEV));
    case("tgl", I915_PARAM_IRQ_ACTIVE, Err(Errno::ENODEV));
    case("tgl", 60, Err(Errno::EINVAL));
}

#[test]
fn an_unknown_parameter_is_refused_before_the_address_is_used() {
    let mut caller = Caller::new("tgl");
    let args = |param| drm_i915_getparam { param, value: READ_ONLY, ..Default::default() };
    assert_eq!(caller.on(2, DRM_IOCTL_I915_GETPARAM, args(99)).0, Some(Errno::EINVAL));
    assert_eq!(caller.on(2, DRM_IOCTL_I915_GETPARAM, args(17)).0, Some(Errno::EFAULT));
}

#[test]
fn requests_that_are_gone_do_nothing_or_refuse() {
    let code = |direction: u32, number: u32| direction << 30 | 8 << 16 | 0x64 << 8 | number;
    #[track_caller]
    fn case(name: &str, file: usize, code: u32, expected: Result<i32, Errno>) {
        let mut caller = Caller::new(name);
        assert_eq!(caller.process.ioctl(caller.fds[file], code, ARGS), expected, "{name} {code:#x} {file}");
    }
    case("tgl", 0, code(1, 0x40), Ok(0));
    case("tgl", 1, code(1, 0x40), Err(Errno::EACCES));
    case("tgl", 1, code(1, 0x45), Ok(0));
    case("tgl", 2, code(1, 0x45), Err(Errno::EACCES));
    case("tgl", 0, code(3, 0x55), Err(Errno::ENODEV));
    case("tgl", 0, code(1, 0x54), Err(Errno::EINVAL));
    case("tgl", 2, code(3, 0x26), Err(Errno::EINVAL));
    case("tgl,kernel=6.1", 2, code(3, 0x26), Err(Errno::EACCES));
    case("tgl", 0, code(1, 0x50), Err(Errno::EINVAL));
}

#[test]
fn performance_counters_are_refused_as_without_permission() {
    let mut caller = Caller::new("tgl");
    let open = |caller: &mut Caller, properties: &[u64], flags| {
        caller.process.store(LIST, cast_slice(properties)).unwrap();
        let properties_ptr = LIST;
        let num_properties = properties.len() as u32 / 2;
        let args = drm_i915_perf_open_param { flags, num_properties, properties_ptr };
        caller.on(2, DRM_IOCTL_I915_PERF_OPEN, args).0
    };
    assert_eq!(open(&mut caller, &[2, 1, 3, 1], I915_PERF_FLAG_FD_CLOEXEC), Some(Errno::EACCES));
    assert_eq!(open(&mut caller, &[2, 1], 8), Some(Errno::EINVAL));
    assert_eq!(open(&mut caller, &[], 0), Some(Errno::EINVAL));
    assert_eq!(open(&mut caller, &[11, 1], 0), Some(Errno::EINVAL));
    assert_eq!(caller.on(2, DRM_IOCTL_I915_PERF_REMOVE_CONFIG, u64::MAX).0, Some(Errno::EACCES));
    assert_eq!(caller.process.ioctl(caller.fds[2], 0x4048_6477, LIST), Err(Errno::EACCES));
    let mut caller = Caller::new("snb");
    assert_eq!(open(&mut caller, &[2, 1], 0), Some(Errno::new(524)), "there are none");
    assert_eq!(caller.on(2, DRM_IOCTL_I915_PERF_REMOVE_CONFIG, u64::MAX).0, Some(Errno::new(524)));
}
