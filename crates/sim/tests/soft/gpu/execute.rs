//! EXECBUFFER2, BUSY, WAIT, THROTTLE and QUERY as numbers.

use bytemuck::{Pod, bytes_of, cast_slice, try_pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency_sim::{Minor, Pages, Process, SimDevice};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_BUSY, DRM_IOCTL_I915_GEM_CREATE, DRM_IOCTL_I915_GEM_WAIT, drm_i915_gem_busy,
    drm_i915_gem_create, drm_i915_gem_wait,
};
use gem_coherency_uapi::i915_exec::*;

/// Addresses of a struct, of the data that it points to, of a page that can only be read, and of a hole.
const ARGS: u64 = 0x1_0000;
const LIST: u64 = ARGS + 0x1000;
const RELOCATIONS: u64 = ARGS + 0x2000;
const READ_ONLY: u64 = ARGS + 0x3000;
const HOLE: u64 = ARGS + 0x4000;
/// An address of the caller's choice.
const PLACE: u64 = 0x0800_0000;

type Object = drm_i915_gem_exec_object2;
type Exec = drm_i915_gem_execbuffer2;

/// A process with two objects of three pages, named 1 and 2; 2 is the batch.
struct Caller {
    process: Process,
    fd: i32,
}

impl Caller {
    #[track_caller]
    fn new(name: &str) -> Self {
        let mut process = Process::default();
        let fd = process.open(&SimDevice::open(&format!("sim:{name}")).unwrap(), Minor::Primary);
        process.allocate(ARGS, 0x3000, Pages::ReadWrite).unwrap();
        process.allocate(READ_ONLY, 0x1000, Pages::ReadOnly).unwrap();
        let mut caller = Self { process, fd };
        for _ in 0..2 {
            let mut create = drm_i915_gem_create { size: 0x3000, ..Default::default() };
            caller.request(DRM_IOCTL_I915_GEM_CREATE, &mut create).unwrap();
        }
        caller
    }

    fn request<T: Pod>(&mut self, request: Ioctl<T>, args: &mut T) -> Result<i32, Errno> {
        self.process.store(ARGS, bytes_of(args)).unwrap();
        let done = self.process.ioctl(self.fd, request.code, ARGS);
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(ARGS, &mut bytes).unwrap();
        *args = try_pod_read_unaligned(&bytes).unwrap();
        done
    }

    /// Submits `list`; returns it as it came back.
    fn execute(&mut self, args: &mut Exec, list: &[Object]) -> Result<Vec<Object>, Errno> {
        self.process.store(LIST, cast_slice(list)).unwrap();
        let given = args.buffer_count;
        (args.buffers_ptr, args.buffer_count) = (LIST, if given == 0 { list.len() as u32 } else { given });
        self.request(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args)?;
        Ok((0..list.len()).map(|number| self.load(LIST + number as u64 * 56)).collect())
    }

    fn load<T: Pod>(&self, at: u64) -> T {
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(at, &mut bytes).unwrap();
        try_pod_read_unaligned(&bytes).unwrap()
    }
}

fn object(handle: u32) -> Object {
    Object { handle, ..Default::default() }
}

fn flagged(handle: u32, flags: u64) -> Object {
    Object { flags, ..object(handle) }
}

fn pinned(handle: u32, offset: u64) -> Object {
    Object { offset, ..flagged(handle, EXEC_OBJECT_PINNED) }
}

#[test]
fn every_check_of_the_struct_refuses_and_its_twin_does_not() {
    #[track_caller]
    fn case(name: &str, change: impl Fn(&mut Exec), expected: Option<Errno>) {
        let mut args = Exec::default();
        change(&mut args);
        let mut caller = Caller::new(name);
        let done = caller.execute(&mut args, &[object(1), object(2)]);
        assert_eq!(done.err(), expected, "{name} {args:?}");
    }
    let (ok, einval) = (None, Some(Errno::EINVAL));
    case("tgl", |_| {}, ok);
    case("tgl", |args| args.buffer_count = 1 << 31, einval);
    case("tgl", |args| args.buffer_count = 1 << 24, Some(Errno::ENOMEM));
    case("tgl", |args| args.buffer_count = 2000, Some(Errno::EFAULT));
    for flags in [1 << 22, 1 << 63, 1 << 6, 1 << 15, 5, 63, 1 << 13, 2 | 3 << 13] {
        case("tgl", |args| args.flags = flags, einval);
    }
    case("tgl", |args| args.flags = 2 | 2 << 13, ok);
    case("jsl", |args| args.flags = 2 | 3 << 13, ok);
    case("i915g", |args| args.flags = I915_EXEC_BLT, einval);
    case("snb", |args| args.flags = I915_EXEC_BLT, ok);
    case("snb", |args| args.flags = I915_EXEC_VEBOX, einval);
    case("hsw", |args| args.flags = I915_EXEC_VEBOX, ok);
    case("tgl", |args| args.num_cliprects = 1, einval);
    case("tgl", |args| args.cliprects_ptr = 8, einval);
    case("tgl", |args| args.DR1 = 1, einval);
    case("tgl", |args| args.DR4 = 1, einval);
    case("tgl", |args| args.DR4 = u32::MAX, ok);
    case("tgl", |args| args.batch_start_offset = 4, einval);
    case("tgl", |args| args.batch_start_offset = 0x2ff8, ok);
    case("tgl", |args| args.batch_start_offset = 0x3000, einval);
    case("tgl", |args| args.batch_len = 0x3008, einval);
    case("tgl", |args| args.rsvd1 = 7, Some(Errno::ENOENT));
    case("tgl", |args| args.rsvd1 = 1 << 32, ok);
    case("tgl", |args| args.flags = I915_EXEC_SECURE, Some(Errno::ENODEV));
    case("skl", |args| args.flags = I915_EXEC_SECURE, Some(Errno::EPERM));
    case("ilk", |args| args.flags = I915_EXEC_SECURE, ok);
    case("hsw", |args| args.flags = I915_EXEC_GEN7_SOL_RESET, ok);
    case("skl", |args| args.flags = I915_EXEC_GEN7_SOL_RESET, einval);
    // The kernel's parser finds no end in a batch of zeroes.
    case("skl", |args| args.flags = I915_EXEC_BLT, einval);
    case("hsw", |args| args.batch_len = 64, einval);
    case("hsw", |args| args.batch_len = 0, ok);
    case("snb", |args| args.batch_len = 64, ok);
}

#[test]
fn every_check_of_an_object_refuses_and_its_twin_does_not() {
    #[track_caller]
    fn case(name: &str, list: &[Object], expected: Option<Errno>) {
        let done = Caller::new(name).execute(&mut Exec::default(), list);
        assert_eq!(done.err(), expected, "{name} {list:?}");
    }
    let (ok, einval, enospc) = (None, Some(Errno::EINVAL), Some(Errno::ENOSPC));
    let batch = object(2);
    case("tgl", &[object(3), batch], Some(Errno::ENOENT));
    case("tgl", &[object(1), object(1), batch], ok);
    case("tgl", &[flagged(1, 1 << 8), batch], einval);
    case("tgl", &[flagged(1, EXEC_OBJECT_NEEDS_GTT), batch], einval);
    case("hsw", &[flagged(1, EXEC_OBJECT_NEEDS_GTT), batch], ok);
    case("tgl", &[Object { alignment: 3, ..object(1) }, batch], einval);
    case("tgl", &[Object { alignment: 1 << 20, ..object(1) }, batch], ok);
    case("tgl", &[pinned(1, PLACE + 0x800), batch], einval);
    case("tgl", &[pinned(1, PLACE), batch], ok);
    case("tgl", &[pinned(1, 1 << 32), batch], einval);
    let far =
        |offset| Object { flags: EXEC_OBJECT_PINNED | EXEC_OBJECT_SUPPORTS_48B_ADDRESS, ..pinned(1, offset) };
    case("tgl", &[far(1 << 32), batch], ok);
    case("tgl", &[far(0xffff_8000_0000_0000), batch], ok);
    case("tgl", &[far(0x8000_0000_0000), batch], einval);
    case("jsl", &[far(0xffff_8000_0000_0000), batch], einval);
    case("tgl", &[pinned(1, PLACE), pinned(2, PLACE + 0x2000)], enospc);
    case("tgl", &[pinned(1, PLACE), pinned(2, PLACE + 0x3000)], ok);
    let padded = |rsvd1| Object { rsvd1, ..flagged(1, EXEC_OBJECT_PAD_TO_SIZE) };
    case("tgl", &[padded(0x4001), batch], einval);
    case("tgl", &[padded(0x4000), batch], ok);
    case("tgl", &[padded(1 << 33), batch], enospc);
    case("tgl", &[object(1), flagged(2, EXEC_OBJECT_WRITE)], einval);
    case("tgl", &[flagged(1, EXEC_OBJECT_CAPTURE), batch], ok);
    case("dg2", &[flagged(1, EXEC_OBJECT_CAPTURE), batch], einval);
    let related = Object { relocation_count: 1, relocs_ptr: RELOCATIONS, ..object(1) };
    case("rkl", &[related, batch], einval);
    case("tgl", &[related, batch], Some(Errno::ENOENT));
    case("tgl", &[Object { relocs_ptr: HOLE, ..related }, batch], Some(Errno::EFAULT));
}

#[test]
fn an_object_goes_where_the_caller_says_if_it_can_and_the_caller_learns_where_it_is() {
    let mut caller = Caller::new("tgl");
    let list = [pinned(1, PLACE), Object { offset: PLACE, ..object(2) }];
    let back = caller.execute(&mut Exec::default(), &list).unwrap();
    assert_eq!(back[0].offset, PLACE);
    assert_ne!(back[1].offset, PLACE);
    let moved = [pinned(1, back[1].offset), Object { offset: back[1].offset, ..object(2) }];
    let again = caller.execute(&mut Exec::default(), &moved).unwrap();
    assert_eq!(again[0].offset, back[1].offset);
    assert_ne!(again[1].offset, back[1].offset, "the one that need not be there gives way");
}

#[test]
fn a_relocation_puts_the_targets_address_where_the_caller_wants_it() {
    #[track_caller]
    fn case(name: &str, entry: drm_i915_gem_relocation_entry, expected: Result<(u64, u64), Errno>) {
        let mut caller = Caller::new(name);
        caller.process.store(RELOCATIONS, bytes_of(&entry)).unwrap();
        let into = Object { relocation_count: 1, relocs_ptr: RELOCATIONS, ..pinned(1, PLACE) };
        let done = caller.execute(&mut Exec::default(), &[into, pinned(2, 2 * PLACE)]);
        let presumed = caller.load(RELOCATIONS + 16);
        let mut bytes = [0; 8];
        let device = caller.process.device(caller.fd).unwrap();
        let handle = gem_coherency::vocabulary::Handle::new(1).unwrap();
        gem_coherency::backend::Extras::pread(device, handle, 64, &mut bytes).unwrap();
        assert_eq!(done.map(|_| (u64::from_le_bytes(bytes), presumed)), expected, "{name} {entry:?}");
        if expected.is_err() {
            assert_eq!(presumed, u64::MAX, "what failed is presumed nowhere");
        }
    }
    let entry =
        drm_i915_gem_relocation_entry { target_handle: 2, offset: 64, read_domains: 2, ..Default::default() };
    for name in ["tgl", "glk", "bdw", "hsw", "vlv", "gm45"] {
        case(name, entry, Ok((2 * PLACE, 2 * PLACE)));
        case(name, drm_i915_gem_relocation_entry { delta: 8, ..entry }, Ok((2 * PLACE + 8, 2 * PLACE)));
        case(name, drm_i915_gem_relocation_entry { presumed_offset: 2 * PLACE, ..entry }, Ok((0, 2 * PLACE)));
        let refused = |entry, errno| case(name, entry, Err(errno));
        refused(drm_i915_gem_relocation_entry { target_handle: 3, ..entry }, Errno::ENOENT);
        refused(drm_i915_gem_relocation_entry { offset: 66, ..entry }, Errno::EINVAL);
        refused(drm_i915_gem_relocation_entry { offset: 0x3000, ..entry }, Errno::EINVAL);
        refused(drm_i915_gem_relocation_entry { read_domains: 1, ..entry }, Errno::EINVAL);
        refused(drm_i915_gem_relocation_entry { write_domain: 6, ..entry }, Errno::EINVAL);
    }
}

#[test]
fn a_fence_comes_out_and_goes_in_and_nothing_else_does() {
    let mut caller = Caller::new("tgl");
    let list = [object(1), object(2)];
    let mut out = Exec { flags: I915_EXEC_FENCE_OUT, rsvd2: 9 << 32 | 5, ..Default::default() };
    caller.execute(&mut out, &list).unwrap();
    let fence = out.rsvd2 >> 32;
    assert_eq!(out.rsvd2 & 0xffff_ffff, 5);
    assert_ne!(fence, 9);
    let wait = |fd: u64, flags| Exec { flags, rsvd2: fd, ..Default::default() };
    let mut case = |mut args: Exec, expected: Option<Errno>| {
        assert_eq!(caller.execute(&mut args, &list).err(), expected, "{args:?}");
    };
    case(wait(fence, I915_EXEC_FENCE_IN), None);
    case(wait(fence, I915_EXEC_FENCE_SUBMIT), None);
    case(wait(fence, I915_EXEC_FENCE_SUBMIT | I915_EXEC_FENCE_IN), Some(Errno::EINVAL));
    case(wait(0, I915_EXEC_FENCE_IN), Some(Errno::EINVAL));
    case(wait(99, I915_EXEC_FENCE_IN), Some(Errno::EINVAL));
    let array = |count, at| Exec {
        flags: I915_EXEC_FENCE_ARRAY,
        num_cliprects: count,
        cliprects_ptr: at,
        ..Default::default()
    };
    case(array(0, HOLE), None);
    case(array(1, HOLE), Some(Errno::EFAULT));
    case(array(1, READ_ONLY), Some(Errno::ENOENT));
    case(array(1 << 20, READ_ONLY), Some(Errno::ENOMEM));
}

#[test]
fn busy_and_wait_know_the_engine_and_the_time() {
    let mut caller = Caller::new("tgl");
    caller.process.device(caller.fd).unwrap().stall_gpu(true);
    let mut args = Exec { flags: I915_EXEC_BLT, ..Default::default() };
    caller.execute(&mut args, &[flagged(1, EXEC_OBJECT_WRITE), object(2)]).unwrap();
    let mut busy = drm_i915_gem_busy { handle: 1, busy: 0 };
    caller.request(DRM_IOCTL_I915_GEM_BUSY, &mut busy).unwrap();
    assert_eq!(busy.busy, 0x2_0002);
    let mut wait = |flags, bo_handle, timeout_ns| {
        let mut wait = drm_i915_gem_wait { bo_handle, flags, timeout_ns };
        (caller.request(DRM_IOCTL_I915_GEM_WAIT, &mut wait), wait.timeout_ns)
    };
    assert_eq!(wait(1, 1, 0), (Err(Errno::EINVAL), 0));
    assert_eq!(wait(0, 3, 5), (Err(Errno::ENOENT), 5));
    assert_eq!(wait(0, 1, 0), (Err(Errno::ETIME), 0));
    assert_eq!(wait(0, 1, 1000), (Err(Errno::ETIME), 0));
    caller.process.device(caller.fd).unwrap().stall_gpu(false);
    let mut wait = drm_i915_gem_wait { bo_handle: 1, flags: 0, timeout_ns: -1 };
    assert_eq!(caller.request(DRM_IOCTL_I915_GEM_WAIT, &mut wait), Ok(0));
    assert_eq!(caller.request(DRM_IOCTL_I915_GEM_THROTTLE, &mut ()), Ok(0));
}

#[test]
fn a_question_is_answered_or_refused_in_its_item() {
    #[track_caller]
    fn case(name: &str, query_id: u64, flags: u32, expected: i32) {
        let mut caller = Caller::new(name);
        let mut ask = |length, data_ptr| {
            let item = drm_i915_query_item { query_id, length, flags, data_ptr };
            caller.process.store(LIST, bytes_of(&item)).unwrap();
            let mut args = drm_i915_query { num_items: 1, flags: 0, items_ptr: LIST };
            assert_eq!(caller.request(DRM_IOCTL_I915_QUERY, &mut args), Ok(0), "{name} {query_id}");
            caller.load::<drm_i915_query_item>(LIST).length
        };
        assert_eq!(ask(0, 0), expected, "{name} {query_id} {flags}");
        if expected > 0 {
            assert_eq!(ask(1, RELOCATIONS), -(Errno::EINVAL.get()));
            assert_eq!(ask(expected, HOLE), -(Errno::EFAULT.get()));
            assert_eq!(ask(expected, READ_ONLY), -(Errno::EFAULT.get()));
            assert_eq!(ask(expected, RELOCATIONS), expected);
        }
    }
    let (einval, enodev) = (-(Errno::EINVAL.get()), -(Errno::ENODEV.get()));
    // As the emulated devices answer.
    case("tgl", 1, 0, 30);
    case("tgl", 2, 0, 16 + 5 * 56);
    case("tgl", 3, 1, 56);
    case("tgl", 4, 0, 104);
    case("tgl", 5, 0, enodev);
    case("tgl", 6, 0, enodev);
    case("tgl", 7, 0, enodev);
    case("tgl,kernel=6.1", 7, 0, einval);
    case("tgl", 8, 0, einval);
    case("tgl", 1, 1, einval);
    case("tgl", 3, 0, einval);
    case("dg2", 4, 0, 192);
    case("dg2", 6, 0, 85);
    case("dg2", 6, 1, einval);
    case("dg2,kernel=6.1", 3, 1, enodev);
    case("hsw", 1, 0, 27);
    case("ivb", 1, 0, enodev);
    case("i915g", 2, 0, 16 + 56);
    let mut caller = Caller::new("tgl");
    let mut ask = |num_items, flags, items_ptr| {
        caller.request(DRM_IOCTL_I915_QUERY, &mut drm_i915_query { num_items, flags, items_ptr })
    };
    assert_eq!(ask(0, 1, LIST), Err(Errno::EINVAL));
    assert_eq!(ask(0, 0, HOLE), Ok(0));
    assert_eq!(ask(1, 0, HOLE), Err(Errno::EFAULT));
    assert_eq!(ask(1, 0, READ_ONLY), Err(Errno::EINVAL), "a question without a number");
}

#[test]
fn a_submission_by_number_runs_its_batch_where_it_says() {
    use gem_coherency::backend::Extras;
    use gem_coherency::vocabulary::Handle;
    let mut caller = Caller::new("tgl");
    let (target, batch) = (Handle::new(1).unwrap(), Handle::new(2).unwrap());
    // From byte 64 on: MI_STORE_DATA_IMM to byte 8 of the target, and the end.
    let words = [0x1000_0002_u32, 0, 0, 0xfeed_f00d, 0x0500_0000];
    caller.process.device(caller.fd).unwrap().pwrite(batch, 64, bytes_of(&words)).unwrap();
    let relocation = drm_i915_gem_relocation_entry {
        target_handle: 1,
        delta: 8,
        offset: 64 + 4,
        presumed_offset: u64::MAX,
        ..Default::default()
    };
    caller.process.store(RELOCATIONS, bytes_of(&relocation)).unwrap();
    let list = [object(1), Object { relocation_count: 1, relocs_ptr: RELOCATIONS, ..object(2) }];
    let mut args = Exec { batch_start_offset: 64, flags: I915_EXEC_BLT, ..Exec::default() };
    caller.execute(&mut args, &list).unwrap();
    let device = caller.process.device(caller.fd).unwrap();
    let mut seen = [0; 4];
    device.pread(target, 8, &mut seen).unwrap();
    assert_eq!(u32::from_le_bytes(seen), 0xfeed_f00d);
    assert_eq!(device.gpu_hangs(), []);
}
