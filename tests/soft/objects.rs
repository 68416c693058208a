//! Objects, their names, facts, masters and contexts as numbers.

use gem_coherency::drm::soft::{Minor, Pages, Process, Soft};
use gem_coherency::drm::{Drm, Placement};
use gem_coherency::uapi::Ioctl;
use gem_coherency::uapi::drm::*;
use gem_coherency::uapi::i915::*;
use gem_coherency::uapi::i915_context::*;
use gem_coherency::uapi::i915_facts::*;
use nix::errno::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Where a struct lies, what it points to, a page that can only be read, and nothing.
const ARGS: u64 = 0x1_0000;
const LIST: u64 = ARGS + 0x1000;
const READ_ONLY: u64 = ARGS + 0x2000;
const HOLE: u64 = ARGS + 0x3000;

/// A process with two files of the primary node, of which the first is the master's, and one of the
/// render node.
struct Caller {
    process: Process,
    fds: [i32; 3],
}

impl Caller {
    #[track_caller]
    fn new(name: &str) -> Self {
        let device = Soft::open(&format!("sim:{name}")).unwrap();
        let mut process = Process::default();
        let fds = [Minor::Primary, Minor::Primary, Minor::Render].map(|minor| process.open(&device, minor));
        process.allocate(ARGS, 0x2000, Pages::ReadWrite).unwrap();
        process.allocate(READ_ONLY, 0x1000, Pages::ReadOnly).unwrap();
        Self { process, fds }
    }

    fn on<T: FromBytes + IntoBytes + Immutable>(
        &mut self,
        file: usize,
        request: Ioctl<T>,
        mut args: T,
    ) -> (Option<Errno>, T) {
        self.process.store(ARGS, args.as_bytes()).unwrap();
        let done = self.process.ioctl(self.fds[file], request.code, ARGS);
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(ARGS, &mut bytes).unwrap();
        if let Ok(back) = T::read_from_bytes(&bytes) {
            args = back;
        }
        (done.err(), args)
    }

    fn put(&mut self, at: u64, value: &(impl IntoBytes + Immutable)) -> u64 {
        self.process.store(at, value.as_bytes()).unwrap();
        at
    }

    fn create(&mut self, file: usize) -> u32 {
        let create = drm_i915_gem_create { size: 4096, ..Default::default() };
        let (errno, create) = self.on(file, DRM_IOCTL_I915_GEM_CREATE, create);
        assert_eq!(errno, None);
        create.handle
    }

    fn param(&mut self, param: i32) -> Result<i32, Errno> {
        let args = drm_i915_getparam { param, value: LIST, ..Default::default() };
        let mut value = [0; 4];
        match self.on(2, DRM_IOCTL_I915_GETPARAM, args).0 {
            Some(errno) => Err(errno),
            None => {
                self.process.load(LIST, &mut value).unwrap();
                Ok(i32::from_le_bytes(value))
            }
        }
    }

    fn flink(&mut self, file: usize, handle: u32) -> (Option<Errno>, u32) {
        let (errno, args) = self.on(file, DRM_IOCTL_GEM_FLINK, drm_gem_flink { handle, name: 0 });
        (errno, args.name)
    }

    fn open(&mut self, file: usize, name: u32) -> (Option<Errno>, drm_gem_open) {
        self.on(file, DRM_IOCTL_GEM_OPEN, drm_gem_open { name, ..Default::default() })
    }

    fn context_param(&mut self, ctx_id: u32, param: u64) -> (Option<Errno>, u64) {
        let args = drm_i915_gem_context_param { ctx_id, param, ..Default::default() };
        let (errno, args) = self.on(2, DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM, args);
        (errno, args.value)
    }

    fn set_context_param(&mut self, ctx_id: u32, size: u32, param: u64, value: u64) -> Option<Errno> {
        let args = drm_i915_gem_context_param { ctx_id, size, param, value };
        self.on(2, DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, args).0
    }

    fn new_context(&mut self) -> u32 {
        let args = drm_i915_gem_context_create::default();
        let (errno, args) = self.on(2, DRM_IOCTL_I915_GEM_CONTEXT_CREATE, args);
        assert_eq!(errno, None);
        args.ctx_id
    }
}

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

/// What GEM_CREATE_EXT says to a chain at `extensions`.
fn create_ext(caller: &mut Caller, size: u64, flags: u32, extensions: u64) -> (Option<Errno>, u64) {
    let args = drm_i915_gem_create_ext { size, flags, extensions, ..Default::default() };
    let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_CREATE_EXT, args);
    (errno, args.size)
}

/// A list of regions at [`LIST`], which ends the chain.
fn regions(caller: &mut Caller, regions: &[[u16; 2]]) -> u64 {
    let at = LIST + 0x100;
    for (index, region) in regions.iter().enumerate() {
        caller.put(at + 4 * index as u64, region);
    }
    let base = i915_user_extension { name: I915_GEM_CREATE_EXT_MEMORY_REGIONS, ..Default::default() };
    let num_regions = regions.len() as u32;
    caller.put(LIST, &drm_i915_gem_create_ext_memory_regions { base, pad: 0, num_regions, regions: at })
}

#[test]
fn an_object_lives_where_its_regions_say() {
    #[track_caller]
    fn case(name: &str, places: &[[u16; 2]], flags: u32, expected: Result<u64, Errno>) {
        let mut caller = Caller::new(name);
        let at = regions(&mut caller, places);
        let (errno, size) = create_ext(&mut caller, 5000, flags, at);
        assert_eq!(errno.map_or(Ok(size), Err), expected, "{name} {places:?}");
    }
    const CPU: u32 = I915_GEM_CREATE_EXT_FLAG_NEEDS_CPU_ACCESS;
    let invalid = Err(Errno::EINVAL);
    case("tgl", &[[0, 0]], 0, Ok(8192));
    case("tgl", &[[1, 0]], 0, invalid);
    case("dg1", &[[1, 0]], 0, Ok(8192));
    case("dg2", &[[1, 0]], 0, Ok(65536));
    case("dg2", &[[0, 0], [1, 0]], 0, Ok(65536));
    case("dg2", &[[1, 0], [1, 0]], 0, invalid);
    case("dg2", &[[1, 1]], 0, invalid);
    case("dg2", &[], 0, invalid);
    case("dg2", &[[1, 0], [0, 0]], CPU, Ok(65536));
    case("dg2", &[[1, 0]], CPU, invalid);
    case("tgl", &[[0, 0]], CPU, invalid);
    case("tgl", &[[0, 0]], 2, invalid);
}

#[test]
fn a_chain_of_extensions_ends_in_time() {
    let mut caller = Caller::new("mtl");
    let base =
        i915_user_extension { next_extension: LIST, name: I915_GEM_CREATE_EXT_SET_PAT, ..Default::default() };
    let set_pat = drm_i915_gem_create_ext_set_pat { base, pat_index: 3, rsvd: 0 };
    let at = caller.put(LIST, &set_pat);
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::E2BIG), "it leads to itself");
    let ends = i915_user_extension { next_extension: 0, ..base };
    caller.put(LIST, &drm_i915_gem_create_ext_set_pat { base: ends, ..set_pat });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, None);
    caller.put(LIST, &drm_i915_gem_create_ext_set_pat { base: ends, pat_index: 5, rsvd: 0 });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EINVAL));
    let hole = i915_user_extension { next_extension: HOLE, ..base };
    caller.put(LIST, &drm_i915_gem_create_ext_set_pat { base: hole, ..set_pat });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EFAULT));
    caller.put(LIST, &i915_user_extension { name: 3, ..ends });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EINVAL), "an unknown one");
    caller.put(LIST, &i915_user_extension { flags: 1, ..ends });
    assert_eq!(create_ext(&mut caller, 4096, 0, at).0, Some(Errno::EINVAL), "a reserved field");
}

#[test]
fn the_typed_way_reaches_local_memory() {
    let dg2 = Soft::open("sim:dg2").unwrap();
    assert_eq!(dg2.create_in(1, &[Placement::LOCAL]).unwrap().size_bytes, 65536);
    assert_eq!(dg2.create_in(1, &[Placement::SYSTEM]).unwrap().size_bytes, 4096);
    let tgl = Soft::open("sim:tgl").unwrap();
    assert_eq!(tgl.create_in(1, &[Placement::LOCAL]).unwrap_err().errno(), Errno::EINVAL);
}

#[test]
fn a_name_for_all_files_is_gone_with_the_last_handle() {
    let mut caller = Caller::new("tgl");
    let handle = caller.create(0);
    assert_eq!(caller.flink(0, handle), (None, 1));
    assert_eq!(caller.flink(0, handle), (None, 1), "the same again");
    let (errno, opened) = caller.open(1, 1);
    assert_eq!((errno, opened.handle, opened.size), (None, 1, 4096));
    assert_eq!(caller.open(1, 1).1.handle, 2, "another handle every time");
    let close = |handle| drm_gem_close { handle, pad: 0 };
    assert_eq!(caller.on(0, DRM_IOCTL_GEM_CLOSE, close(handle)).0, None);
    assert_eq!(caller.open(0, 1).0, None, "the second file holds it");
    for (file, handle) in [(0, 1), (1, 1), (1, 2)] {
        assert_eq!(caller.on(file, DRM_IOCTL_GEM_CLOSE, close(handle)).0, None);
    }
    assert_eq!(caller.open(0, 1).0, Some(Errno::ENOENT));
    assert_eq!(caller.on(0, DRM_IOCTL_GEM_CLOSE, close(1)).0, Some(Errno::EINVAL));
}

#[test]
fn the_render_node_knows_no_names_for_all_files() {
    let mut caller = Caller::new("tgl");
    let handle = caller.create(2);
    assert_eq!(caller.flink(2, handle).0, Some(Errno::EACCES));
    assert_eq!(caller.open(2, 1).0, Some(Errno::EACCES));
    assert_eq!(caller.flink(0, 5).0, Some(Errno::ENOENT));
}

#[test]
fn madvise_checks_the_advice_before_the_handle() {
    let mut caller = Caller::new("tgl");
    let handle = caller.create(2);
    let mut advise = |handle, madv| {
        let args = drm_i915_gem_madvise { handle, madv, retained: 9 };
        let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_MADVISE, args);
        (errno, args.retained)
    };
    assert_eq!(advise(77, 2), (Some(Errno::EINVAL), 9));
    assert_eq!(advise(77, 0), (Some(Errno::ENOENT), 9));
    assert_eq!(advise(handle, 0), (None, 1));
    assert_eq!(advise(handle, 1), (None, 0), "without pages it is purged at once");
    assert_eq!(advise(handle, 0), (None, 0), "and stays so");
}

#[test]
fn strides_are_what_fence_registers_take() {
    #[track_caller]
    fn case(name: &str, mode: u32, stride: u32, expected: Result<[u32; 3], Errno>) {
        let mut caller = Caller::new(name);
        let handle = caller.create(2);
        let args = drm_i915_gem_set_tiling { handle, tiling_mode: mode, stride, swizzle_mode: 9 };
        let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_SET_TILING, args);
        let back = [args.tiling_mode, args.stride, args.swizzle_mode];
        assert_eq!(errno.map_or(Ok(back), Err), expected, "{name} {mode} {stride}");
    }
    case("tgl", 1, 512, Ok([1, 512, 0]));
    case("tgl", 2, 128, Ok([2, 128, 0]));
    case("tgl", 1, 128, Err(Errno::EINVAL));
    case("tgl", 1, 262144, Ok([1, 262144, 0]));
    case("tgl", 1, 262656, Err(Errno::EINVAL));
    case("snb", 1, 131072, Ok([1, 131072, 0]));
    case("snb", 1, 131584, Err(Errno::EINVAL));
    case("i915g", 2, 512, Ok([2, 512, 0]));
    case("i915g", 2, 128, Err(Errno::EINVAL));
    case("i915g", 1, 1536, Err(Errno::EINVAL));
    case("ilk", 1, 512, Ok([1, 512, 2]));
    case("tgl", 0, 77, Ok([0, 0, 0]));
    case("tgl", 3, 512, Err(Errno::EINVAL));
    case("dg2", 1, 512, Err(Errno::EOPNOTSUPP));
}

#[test]
fn a_master_goes_and_another_comes() {
    let mut caller = Caller::new("tgl");
    let request = |caller: &mut Caller, file, request: Ioctl<()>| caller.on(file, request, ()).0;
    assert_eq!(request(&mut caller, 1, DRM_IOCTL_SET_MASTER), Some(Errno::EBUSY));
    assert_eq!(request(&mut caller, 1, DRM_IOCTL_DROP_MASTER), Some(Errno::EINVAL));
    assert_eq!(request(&mut caller, 0, DRM_IOCTL_SET_MASTER), None, "it is already");
    assert_eq!(request(&mut caller, 0, DRM_IOCTL_DROP_MASTER), None);
    assert_eq!(request(&mut caller, 1, DRM_IOCTL_SET_MASTER), None);
    assert_eq!(request(&mut caller, 0, DRM_IOCTL_SET_MASTER), Some(Errno::EBUSY));
    assert_eq!(request(&mut caller, 2, DRM_IOCTL_SET_MASTER), Some(Errno::EACCES));
    let auth = |magic| drm_auth { magic };
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(1)).0, Some(Errno::EACCES), "no longer the master");
}

#[test]
fn a_magic_number_is_good_once() {
    let mut caller = Caller::new("tgl");
    let auth = |magic| drm_auth { magic };
    assert_eq!(caller.on(1, DRM_IOCTL_GET_MAGIC, auth(0)).1.magic, 1);
    assert_eq!(caller.on(1, DRM_IOCTL_GET_MAGIC, auth(0)).1.magic, 1);
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(1)).0, None);
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(1)).0, Some(Errno::EINVAL));
    assert_eq!(caller.on(0, DRM_IOCTL_AUTH_MAGIC, auth(2)).0, Some(Errno::EINVAL));
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
fn contexts_are_there_from_gen4_on_and_the_first_one_stays() {
    let mut caller = Caller::new("i915g");
    let args = drm_i915_gem_context_create::default();
    assert_eq!(caller.on(2, DRM_IOCTL_I915_GEM_CONTEXT_CREATE, args).0, Some(Errno::ENODEV));
    let mut caller = Caller::new("tgl");
    assert_eq!((caller.new_context(), caller.new_context()), (1, 2));
    let destroy = |ctx_id, pad| drm_i915_gem_context_destroy { ctx_id, pad };
    let mut destroyed =
        |ctx_id, pad| caller.on(2, DRM_IOCTL_I915_GEM_CONTEXT_DESTROY, destroy(ctx_id, pad)).0;
    assert_eq!(destroyed(1, 1), Some(Errno::EINVAL));
    assert_eq!(destroyed(0, 0), Some(Errno::ENOENT));
    assert_eq!(destroyed(1, 0), None);
    assert_eq!(destroyed(1, 0), Some(Errno::ENOENT));
    assert_eq!(caller.new_context(), 1, "the lowest number again");
}

#[test]
fn address_spaces_are_as_large_as_the_platforms() {
    let size = |name: &str| Caller::new(name).context_param(0, I915_CONTEXT_PARAM_GTT_SIZE).1;
    assert_eq!(size("i965gm"), 512 << 20);
    assert_eq!(size("hsw"), 2 << 30);
    assert_eq!(size("jsl"), 1 << 36);
    assert_eq!(size("dg2,kernel=6.1"), 1 << 48);
    assert_eq!(size("dg2"), (1 << 48) - 65536);
    assert_eq!(size("mtl"), (1 << 48) - 4096);
}

#[test]
fn only_a_proposal_takes_engines_and_what_is_wrong_with_them_shows_late() {
    const ENGINES: u64 = I915_CONTEXT_PARAM_ENGINES;
    let mut caller = Caller::new("tgl");
    let engine =
        |class, instance| i915_engine_class_instance { engine_class: class, engine_instance: instance };
    let balance = i915_context_engines_load_balance { num_siblings: 2, ..Default::default() };
    caller.put(LIST + 0x100, &balance);
    caller.put(LIST + 0x100 + 48, &engine(2, 0));
    caller.put(LIST + 0x100 + 52, &engine(1, 0));
    caller.put(LIST, &(LIST + 0x100));
    caller.put(LIST + 8, &engine(0xffff, 0xffff));
    let context = caller.new_context();
    assert_eq!(caller.set_context_param(0, 12, ENGINES, LIST), Some(Errno::EINVAL), "settled");
    assert_eq!(caller.set_context_param(context, 11, ENGINES, LIST), Some(Errno::EINVAL));
    assert_eq!(caller.set_context_param(context, 12, ENGINES, HOLE), Some(Errno::EFAULT));
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), None);
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), Some(Errno::EINVAL), "twice");
    let looked_up = caller.context_param(context, I915_CONTEXT_PARAM_PRIORITY).0;
    assert_eq!(looked_up, Some(Errno::EINVAL), "a video and a copy engine are no siblings");
    // The second video engine is one, and then there is a context.
    caller.put(LIST + 0x100 + 52, &engine(2, 1));
    let context = caller.new_context();
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), None);
    assert_eq!(caller.context_param(context, I915_CONTEXT_PARAM_PRIORITY).0, None);
    caller.put(LIST + 8, &engine(0, 1));
    let context = caller.new_context();
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), Some(Errno::ENOENT));
}

#[test]
fn priorities_and_persistence_need_a_scheduler() {
    const PRIORITY: u64 = I915_CONTEXT_PARAM_PRIORITY;
    const PERSISTENCE: u64 = I915_CONTEXT_PARAM_PERSISTENCE;
    let set = |name: &str, param, value| Caller::new(name).set_context_param(0, 0, param, value);
    assert_eq!(set("skl", PRIORITY, 1023), None);
    assert_eq!(set("skl", PRIORITY, 1024), Some(Errno::EINVAL));
    assert_eq!(set("skl", PRIORITY, -1023_i64 as u64), None);
    assert_eq!(set("hsw", PRIORITY, 0), Some(Errno::ENODEV));
    assert_eq!(set("skl", PERSISTENCE, 0), None);
    assert_eq!(set("bdw", PERSISTENCE, 0), Some(Errno::ENODEV));
    assert_eq!(set("bdw", PERSISTENCE, 1), None);
}
