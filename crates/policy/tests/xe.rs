//! xe: its platforms, PAT tables and refusals. `ci/xe` compares the answers with the driver's.

use std::collections::HashSet;

use gem_coherency_policy::platform::{self, Basis, Driver, GraphicsVersion};
use gem_coherency_policy::vocabulary::{Agent, CachingMode, KernelVersion};
use gem_coherency_policy::xe::{
    self, Bind, BindFlags, BindOp, Bound, CachePolicy, CpuCaching, Create, CreateFlags, Device, LOCAL,
    MapFlags, Memory, Object, PatCoherency, PatEntry, Refusal, Rule, SYSTEM, Use, Verdict, When,
};
use gem_coherency_policy::{Errno, Unknown};

const V6_12: KernelVersion = KernelVersion::new(6, 12);
const V7_2: KernelVersion = KernelVersion::new(7, 2);
const V7_3: KernelVersion = KernelVersion::new(7, 3);
const SIZE: u64 = 65536;

fn device(name: &str, kernel: KernelVersion) -> Device {
    xe::by_name(name).unwrap().device(kernel).unwrap()
}

/// The answer for one operation in an address space without page faults.
fn bind(device: Device, op: Bind<'_>) -> Result<(), Refusal> {
    device.bind(&[op], false).map_err(|(_, refusal)| refusal)
}

fn einval(rule: Rule) -> Result<(), Refusal> {
    Err(Refusal { errno: Errno::EINVAL, rule })
}

fn object(device: Device, caching: CpuCaching) -> Object {
    device.create(&Create::new(SIZE, caching)).unwrap()
}

/// The indices of a table whose entries are as `wanted` says.
fn indices(device: Device, wanted: impl Fn(&PatEntry) -> bool) -> Vec<u16> {
    device.pat.indices().filter(|(_, entry)| wanted(entry)).map(|(index, _)| index).collect()
}

#[test]
fn pat_tables_have_the_sets_of_indices_of_the_drivers() {
    use PatCoherency::{None as Not, OneWay, TwoWay};
    let xe2_none = vec![0, 3, 6, 8, 13, 20, 24, 28];
    let (one, two) = (vec![1, 4, 5, 22, 26, 30], vec![2, 7, 23, 27, 31]);
    let packed = vec![9, 10, 11, 12, 14, 15, 21, 25, 29];
    let with = |list: &[u16], more: u16| {
        let mut list = [list, &[more]].concat();
        list.sort_unstable();
        list
    };
    let below =
        |list: &[u16], end: u16| list.iter().copied().filter(|&index| index < end).collect::<Vec<_>>();
    for (name, count, none, one_way, two_way, compressed, snooped_compressed) in [
        ("tgl", 4, vec![1, 2, 3], vec![0], vec![], vec![], vec![]),
        ("dg2", 4, vec![1, 2, 3], vec![0], vec![], vec![], vec![]),
        ("mtl", 5, vec![0, 1, 2], vec![3], vec![4], vec![], vec![]),
        ("lnl", 32, xe2_none.clone(), one.clone(), two.clone(), packed.clone(), vec![]),
        ("bmg", 28, below(&xe2_none, 28), below(&one, 28), below(&two, 28), below(&packed, 28), vec![]),
        ("bmg-g31", 32, xe2_none.clone(), one.clone(), two.clone(), packed.clone(), vec![]),
        ("ptl", 32, xe2_none.clone(), one.clone(), two.clone(), packed.clone(), vec![16]),
        ("nvlp", 32, with(&xe2_none, 18), with(&one, 19), two, packed, vec![16]),
        (
            "cri",
            32,
            vec![0, 3, 5, 8, 23, 26, 29],
            vec![1, 4, 6, 9, 24, 27, 30],
            vec![2, 7, 10, 25, 28, 31],
            vec![],
            vec![],
        ),
    ] {
        let device = device(name, V7_3);
        assert_eq!(device.pat.entries.len(), count, "{name}");
        let plain = |coherency| indices(device, |entry| !entry.compressed && entry.coherency == coherency);
        assert_eq!((plain(Not), plain(OneWay), plain(TwoWay)), (none, one_way, two_way), "{name}");
        let packed = |snoops| indices(device, |entry| entry.compressed && entry.coherency.snoops() == snoops);
        assert_eq!((packed(false), packed(true)), (compressed, snooped_compressed), "{name}");
    }
}

#[test]
fn the_drivers_own_indices_are_what_it_uses_them_for() {
    for platform in xe::all() {
        let device = platform.device(V7_3).unwrap();
        let own = device.pat.own;
        let entry = |index| device.pat.entry(index).unwrap();
        assert!(!entry(own.none).coherency.snoops() && !entry(own.wt).coherency.snoops(), "{platform}");
        assert!(entry(own.wb).coherency.snoops(), "{platform}");
        assert_ne!(entry(own.none).l3, Some(CachePolicy::Wb), "{platform}");
    }
}

#[test]
fn registers_have_the_fields_of_their_generation() {
    for (name, index, register) in [
        ("tgl", 0, 3),
        ("tgl", 3, 0),
        ("mtl", 2, 0xc),
        ("mtl", 4, 3),
        // The entries of xe2_pat_table: no promotion, compression, XD, WT.
        ("lnl", 15, 1 << 10 | 1 << 9 | 1 << 4 | 1 << 2),
        ("lnl", 31, 3 << 6 | 3 << 2 | 3),
        ("lnl", 16, 0),
        ("nvlp", 19, 1 << 10 | 2 << 4 | 3 << 2 | 2),
    ] {
        assert_eq!(device(name, V7_3).pat.register(index), Some(register), "{name} {index}");
    }
    assert_eq!(device("bmg", V7_2).pat.register(28), None);
}

#[test]
fn a_platform_is_found_by_name_title_and_id_and_others_are_refused_by_name() {
    assert_eq!(xe::by_name("bmg-g21").unwrap().name(), "bmg");
    for name in ["lnl", "Lunar Lake", "lunar-lake", "64a0", "0x64a0", "8086:64A0"] {
        assert_eq!(xe::by_name(name).unwrap().name(), "lnl", "{name}");
    }
    // Two devices of one name in the driver, with other tables.
    assert_eq!((xe::by_id(0xe20b).unwrap().name(), xe::by_id(0xe221).unwrap().name()), ("bmg", "bmg-g31"));
    assert_eq!(xe::by_name("jsl").unwrap_err(), Unknown::DrivenByI915 { platform: "Jasper Lake" });
    assert_eq!(xe::by_id(0x4e61).unwrap_err(), Unknown::DrivenByI915 { platform: "Jasper Lake" });
    assert_eq!(xe::by_id(0xffff).unwrap_err(), Unknown::DeviceId { id: 0xffff });
    assert_eq!(
        xe::by_name("lnll").unwrap_err().to_string().split(" (").next(),
        Some("unknown platform 'lnll'; did you mean lnl?")
    );
}

#[test]
fn each_kernel_has_its_own_list_of_ids() {
    let ids = |name: &str, kernel| xe::by_name(name).unwrap().ids(kernel).collect::<HashSet<_>>();
    assert!(!ids("adlp", V6_12).contains(&0x46d3) && ids("adlp", V7_2).contains(&0x46d3));
    assert!(!ids("bmg", V6_12).contains(&0xe209) && ids("bmg", V7_2).contains(&0xe209));
    assert!(ids("nvls", V7_2).contains(&0xd744) && !ids("nvls", V7_3).contains(&0xd744));
    // No ID belongs to two platforms.
    let mut seen = HashSet::new();
    for platform in xe::all() {
        for id in platform.ids(V7_3).collect::<HashSet<_>>() {
            assert!(seen.insert(id), "{id:#x}");
            assert_eq!(xe::by_id(id).unwrap().name(), platform.name(), "{id:#x}");
        }
    }
    assert_eq!(
        xe::by_name("ptl").unwrap().device(V6_12).unwrap_err().to_string(),
        "the xe driver of Linux 6.12 does not claim ptl"
    );
    assert_eq!(
        xe::by_name("tgl").unwrap().device(KernelVersion::new(6, 1)).unwrap_err().to_string(),
        "the rules of xe cover Linux 6.12 and later, and not 6.1"
    );
}

#[test]
fn i915_takes_what_both_drive_and_xe_the_rest_or_neither() {
    let default = |name: &str, kernel| xe::by_name(name).unwrap().default_driver(kernel);
    for name in ["tgl", "rkl", "adls", "adlp", "dg1", "dg2", "mtl"] {
        assert_eq!(default(name, V7_2), Some(Driver::I915), "{name}");
        assert!(platform::by_name(name).is_ok(), "{name}");
    }
    for (name, kernel, driver) in [
        ("atsm", V7_2, None),
        ("dg1", V6_12, None),
        ("lnl", V6_12, Some(Driver::Xe)),
        ("bmg", V6_12, Some(Driver::Xe)),
        ("ptl", V7_2, Some(Driver::Xe)),
        ("nvls", V7_2, None),
        ("nvls", V7_3, Some(Driver::Xe)),
        ("nvlp", V7_3, None),
        ("cri", V7_3, None),
    ] {
        assert_eq!(default(name, kernel), driver, "{name} {kernel}");
    }
}

#[test]
fn a_platform_that_was_not_run_is_read_under_a_kernel_that_was() {
    let basis = |name, kernel| device(name, kernel).basis();
    for (name, kernel, expected) in [
        ("lnl", V6_12, Basis::Run),
        ("ptl", V7_2, Basis::Run),
        ("bmg-g31", V7_2, Basis::Run),
        ("bmg", V7_2, Basis::Read),
        ("adlp", V6_12, Basis::Read),
        ("nvlp", V7_2, Basis::Read),
        ("lnl", V7_3, Basis::Read),
        ("lnl", KernelVersion::new(6, 18), Basis::Assumed),
    ] {
        assert_eq!(basis(name, kernel), expected, "{name} {kernel}");
    }
}

#[test]
fn a_graphics_version_without_a_table_is_an_error() {
    let lunar_lake = device("lnl", V7_2);
    let error = lunar_lake.with_graphics(GraphicsVersion::new(21, 4)).unwrap_err();
    assert_eq!(error.to_string(), "xe has no PAT table for graphics version 21.04");
    let older = device("lnl", V6_12);
    for (major, minor, known) in [(20, 4, true), (20, 2, false), (30, 0, false), (35, 12, false)] {
        assert_eq!(older.with_graphics(GraphicsVersion::new(major, minor)).is_ok(), known, "{major}.{minor}");
    }
    // The version that a device reports decides, not its PCI ID.
    let device = lunar_lake.with_graphics(GraphicsVersion::new(30, 0)).unwrap();
    assert_eq!(device.pat.entry(16).map(|entry| entry.compressed), Ok(true));
    assert_eq!(lunar_lake.pat.entry(16), Err(Rule::PatIndexReserved));
}

#[test]
fn cached_memory_needs_an_index_that_snoops_on_every_platform() {
    for platform in xe::all() {
        let device = platform.device(V7_3).unwrap();
        let (wb, wc) = (object(device, CpuCaching::Wb), object(device, CpuCaching::Wc));
        let import = Object::imported(SIZE);
        for (index, entry) in device.pat.indices() {
            let snoops = entry.coherency.snoops();
            assert_eq!(bind(device, Bind::map(&wc, 0, index)), Ok(()), "{platform} {index}");
            let cached = if snoops { Ok(()) } else { einval(Rule::CachedNotSnooped) };
            assert_eq!(bind(device, Bind::map(&wb, 0, index)), cached, "{platform} {index}");
            let flushed = index == 19 || entry.coherency == PatCoherency::TwoWay;
            let others = match (snoops, entry.compressed, platform.name() == "nvlp" && !flushed) {
                (false, ..) => [Rule::ImportNotSnooped, Rule::UserptrNotSnooped].map(einval),
                (true, true, false) => [Rule::ImportCompressed, Rule::UserptrCompressed].map(einval),
                (true, true, true) => [Rule::ImportCompressed, Rule::UserptrNotFlushed].map(einval),
                (true, false, true) => [Rule::ImportNotFlushed, Rule::UserptrNotFlushed].map(einval),
                (true, false, false) => [Ok(()), Ok(())],
            };
            let answers =
                [Bind::map(&import, 0, index), Bind::userptr(0, 0, SIZE, index)].map(|op| bind(device, op));
            assert_eq!(answers, others, "{platform} {index}");
        }
    }
}

#[test]
fn new_pages_are_flushed_where_an_index_that_does_not_snoop_is_accepted_for_shared_memory() {
    for platform in xe::all() {
        let device = platform.device(V7_2).unwrap();
        let past = indices(device, |entry| !entry.coherency.snoops() && !entry.compressed);
        for object in [object(device, CpuCaching::Wb), object(device, CpuCaching::Wc), Object::imported(4096)]
        {
            let accepted = past.iter().any(|&index| bind(device, Bind::map(&object, 0, index)).is_ok());
            let flushed = device.new_pages(&object).verdict == Verdict::Flush;
            // Discrete devices snoop in any case.
            assert_eq!(flushed, accepted && !platform.discrete, "{} {:?}", platform.name(), object.caching);
        }
    }
}

#[test]
fn an_index_past_the_table_or_reserved_is_refused_for_every_operation() {
    for (name, reserved) in [("lnl", 16), ("ptl", 17), ("nvlp", 17), ("cri", 11)] {
        let device = device(name, V7_3);
        let beyond = u16::try_from(device.pat.entries.len()).unwrap();
        for (index, rule) in [
            (reserved, Rule::PatIndexReserved),
            (beyond, Rule::PatIndexBeyond),
            (u16::MAX, Rule::PatIndexBeyond),
        ] {
            for &op in BindOp::ALL {
                assert_eq!(bind(device, Bind::bare(op, 0, SIZE, index)), einval(rule), "{name} {op} {index}");
            }
            assert_eq!(device.madvise_pat(0, SIZE, index, false, &[]), einval(rule), "{name} {index}");
        }
    }
}

#[test]
fn creation_is_refused_in_the_kernels_order() {
    let (integrated, discrete) = (device("lnl", V7_2), device("bmg", V7_2));
    let right = Create::new(SIZE, CpuCaching::Wb);
    let scanout = CreateFlags::SCANOUT;
    let rule = |device: Device, request: Create| {
        device.create(&request).err().map(|refusal| (refusal.errno, refusal.rule))
    };
    let no = |rule| Some((Errno::EINVAL, rule));
    assert_eq!(rule(integrated, right), None);
    assert_eq!(rule(integrated, Create { flags: scanout, ..right }), no(Rule::ScanoutIsWc));
    assert_eq!(rule(integrated, Create { placement: LOCAL, ..right }), no(Rule::CreatePlacement));
    assert_eq!(rule(discrete, Create { placement: LOCAL, ..right }), no(Rule::LocalIsWc));
    // The placement comes before the display.
    assert_eq!(
        rule(discrete, Create { placement: LOCAL | SYSTEM, flags: scanout, ..right }),
        no(Rule::LocalIsWc)
    );
    assert_eq!(
        rule(integrated, Create { cpu_caching: 3, flags: scanout, ..right }),
        no(Rule::CachingUnknown)
    );
    let visible = Create { flags: CreateFlags::NEEDS_VISIBLE_VRAM, cpu_caching: 0, ..right };
    assert_eq!(rule(integrated, visible), no(Rule::VisibleWithoutLocal));
    // 6.12 does not know the flag; before graphics 20 it is not supported.
    let plain = Create { flags: CreateFlags::NO_COMPRESSION, ..right };
    assert_eq!(rule(integrated, plain), None);
    assert_eq!(rule(device("mtl", V7_2), plain), Some((Errno::EOPNOTSUPP, Rule::CompressionCannotBeOff)));
    assert_eq!(rule(device("lnl", V6_12), plain), no(Rule::CreateFlags));
    let extension = Create { extension: true, ..right };
    assert_eq!(
        (rule(device("lnl", V6_12), extension), rule(integrated, extension)),
        (no(Rule::CreateExtensions), None)
    );
    // Pages of 64 KiB.
    let small = Create { size: 4096, placement: LOCAL, ..Create::new(SIZE, CpuCaching::Wc) };
    assert_eq!((rule(device("dg2", V7_2), small), rule(discrete, small)), (no(Rule::CreateSize), None));
}

#[test]
fn the_barrier_page_is_of_discrete_devices_and_of_7_2() {
    let barrier = MapFlags::PCI_BARRIER;
    let map = |name, kernel, handle| device(name, kernel).map_offset(handle, barrier, false);
    assert_eq!(map("bmg", V7_2, 0), Ok(()));
    assert_eq!(map("bmg", V7_2, 1), einval(Rule::BarrierHasNoHandle));
    assert_eq!(map("lnl", V7_2, 0), einval(Rule::BarrierIsDiscrete));
    assert_eq!(map("bmg", V6_12, 0), einval(Rule::MapFlags));
}

#[test]
fn all_arguments_are_checked_before_the_first_object() {
    let device = device("lnl", V7_2);
    let wb = object(device, CpuCaching::Wb);
    let refused_object = Bind::map(&wb, 0, 3);
    let refused_argument = Bind::bare(BindOp::Map, 0, SIZE, 0);
    let refusal = |rule| Refusal { errno: Errno::EINVAL, rule };
    assert_eq!(device.bind(&[refused_object], false), Err((0, refusal(Rule::CachedNotSnooped))));
    assert_eq!(
        device.bind(&[refused_object, refused_argument], false),
        Err((1, refusal(Rule::MapNeedsObject)))
    );
    assert_eq!(device.bind(&[], false), Ok(()));
    // Numbers that no address space has do not overflow.
    for address in [1 << 48, u64::MAX - 4095, 1 << 63] {
        assert_eq!(bind(device, Bind::map(&wb, address, 1)), einval(Rule::BindBeyondSpace), "{address:#x}");
    }
}

#[test]
fn all_mappings_of_an_object_are_unbound_without_addresses() {
    let device = device("lnl", V7_2);
    let wc = object(device, CpuCaching::Wc);
    let all = Bind::bare(BindOp::UnmapAll, 0, 0, 0);
    let right = Bind { object: Some(&wc), ..all };
    assert_eq!(bind(device, right), Ok(()));
    for wrong in [all, Bind { address: SIZE, ..right }, Bind { range: SIZE, ..right }] {
        assert_eq!(bind(device, wrong), einval(Rule::UnmapAllOfObject), "{wrong:?}");
    }
}

#[test]
fn a_mirror_needs_page_faults_and_an_index_that_snoops_where_memory_is_shared() {
    let mirror =
        |index| Bind { flags: BindFlags::CPU_ADDR_MIRROR, ..Bind::bare(BindOp::Map, 0, SIZE, index) };
    let (integrated, discrete) = (device("lnl", V7_2), device("bmg", V7_2));
    let none = integrated.pat.own.none;
    assert_eq!(bind(integrated, mirror(none)), einval(Rule::MirrorNeedsFaults));
    let with_faults =
        |device: Device, index| device.bind(&[mirror(index)], true).map_err(|(_, refusal)| refusal);
    assert_eq!(with_faults(integrated, none), einval(Rule::MirrorNotSnooped));
    assert_eq!((with_faults(integrated, 1), with_faults(discrete, none)), (Ok(()), Ok(())));
    let nova_lake = device("nvlp", V7_3);
    assert_eq!(with_faults(nova_lake, 1), einval(Rule::UserptrNotFlushed));
    assert_eq!((with_faults(nova_lake, 2), with_faults(nova_lake, 19)), (Ok(()), Ok(())));
    // Attributes are reset of a mirror only.
    let reset = Bind { flags: BindFlags::CPU_ADDR_MIRROR | BindFlags::MADVISE_AUTORESET, ..mirror(1) };
    assert_eq!(integrated.bind(&[reset], true), Ok(()));
    let other = Bind { flags: BindFlags::NULL | BindFlags::MADVISE_AUTORESET, ..mirror(1) };
    assert_eq!(bind(integrated, other), einval(Rule::AutoresetNeedsMirror));
    // 6.12 knows no mirror.
    assert_eq!(
        device("lnl", V6_12).bind(&[mirror(1)], true).map_err(|(_, refusal)| refusal),
        einval(Rule::BindFlags)
    );
}

#[test]
fn decompressing_needs_compressed_pages_and_an_index_that_does_not_compress() {
    let battlemage = device("bmg", V7_2);
    let wc = object(battlemage, CpuCaching::Wc);
    let decompress = |device: Device, index| {
        bind(device, Bind { flags: BindFlags::DECOMPRESS, ..Bind::map(&wc, 0, index) })
    };
    assert_eq!(decompress(battlemage, 9), einval(Rule::DecompressCompressed));
    assert_eq!(decompress(battlemage, 0), Ok(()));
    // Firmware can turn compression off, Crescent Island has none, DG2 is older, and Lunar Lake integrated.
    let unsupported = Err(Refusal { errno: Errno::EOPNOTSUPP, rule: Rule::CannotDecompress });
    let others = [("cri", V7_3), ("dg2", V7_2), ("lnl", V7_2)].map(|(name, kernel)| device(name, kernel));
    for device in others.into_iter().chain([battlemage.without_flat_ccs()]) {
        assert_eq!(decompress(device, 0), unsupported, "{}", device.platform);
    }
}

#[test]
fn nova_lake_p_flushes_what_processes_share_by_transient_and_2_way_indices_only() {
    let device = device("nvlp", V7_3);
    let import = Object::imported(SIZE);
    for (index, accepted) in [(1, false), (2, true), (19, true)] {
        for (bound, rule) in
            [(Bound::Process, Rule::UserptrNotFlushed), (Bound::Object(&import), Rule::ImportNotFlushed)]
        {
            let advised = device.madvise_pat(0, SIZE, index, false, &[bound]);
            assert_eq!(advised, if accepted { Ok(()) } else { einval(rule) }, "{index} {bound:?}");
        }
    }
}

#[test]
fn advice_is_about_addresses_of_the_space_and_whole_userptrs() {
    let device = device("lnl", V7_2);
    let end = 1 << 48;
    for (start, range) in [(0, end + 4096), (end - 4096, 8192), (4096, u64::MAX - 4095)] {
        assert_eq!(
            device.madvise_pat(start, range, 1, false, &[]),
            einval(Rule::MadviseBeyondSpace),
            "{start:#x} {range:#x}"
        );
    }
    // The sign bits of an address do not count.
    for start in [0, end - 4096, 1 << 60, u64::MAX - 4095] {
        assert_eq!(device.madvise_pat(start, 4096, 1, false, &[]), Ok(()), "{start:#x}");
    }
    let in_part = Err(Refusal { errno: Errno::EFAULT, rule: Rule::UserptrInPart });
    for index in [1, 3] {
        assert_eq!(device.madvise_pat(0, 4096, index, false, &[Bound::PartOfProcess]), in_part, "{index}");
    }
}

#[test]
fn a_prefetch_may_go_where_advice_says_from_7_2_on() {
    let prefetch = Bind { region: u32::MAX, ..Bind::bare(BindOp::Prefetch, 0, SIZE, 1) };
    assert_eq!(bind(device("lnl", V7_2), prefetch), Ok(()));
    assert_eq!(bind(device("lnl", V6_12), prefetch), einval(Rule::PrefetchRegion));
}

#[test]
fn a_pci_id_is_that_of_a_kernel() {
    assert_eq!(xe::device("e209", V7_2).unwrap().platform.name(), "bmg");
    assert_eq!(
        xe::device("8086:e209", V6_12).unwrap_err(),
        Unknown::DeviceUnderKernel { id: 0xe209, kernel: V6_12 }
    );
    assert_eq!(xe::device("bmg", V6_12).unwrap().platform.name(), "bmg");
}

#[test]
fn advice_may_stop_snooping_on_discrete_devices_only() {
    let import = Object::imported(SIZE);
    for (name, refuses) in [("tgl", true), ("mtl", true), ("lnl", true), ("dg2", false), ("bmg", false)] {
        let device = device(name, V7_2);
        let (wb, wc, none) =
            (object(device, CpuCaching::Wb), object(device, CpuCaching::Wc), device.pat.own.none);
        let advise = |bound| device.madvise_pat(0, SIZE, none, false, &[bound]);
        for (bound, rule) in [
            (Bound::Object(&wb), Rule::CachedNotSnooped),
            (Bound::Object(&import), Rule::ImportNotSnooped),
            (Bound::Process, Rule::UserptrNotSnooped),
        ] {
            assert_eq!(advise(bound), if refuses { einval(rule) } else { Ok(()) }, "{name} {bound:?}");
        }
        assert_eq!(advise(Bound::Object(&wc)), Ok(()), "{name}");
    }
    assert_eq!(device("lnl", V6_12).madvise_pat(0, SIZE, 1, false, &[]), einval(Rule::MadviseUnknown));
}

/// The objects that a device can have.
fn objects(device: Device) -> Vec<Object> {
    let both = Create { placement: LOCAL | SYSTEM, ..Create::new(SIZE, CpuCaching::Wc) };
    let local = Create { placement: LOCAL, ..both };
    let requests = [Create::new(SIZE, CpuCaching::Wb), Create::new(SIZE, CpuCaching::Wc), both, local];
    requests
        .iter()
        .filter_map(|request| device.create(request).ok())
        .chain([Object::imported(SIZE)])
        .collect()
}

#[test]
fn no_accepted_mapping_needs_a_flush_of_the_cpus_cache_between_cpu_and_engines() {
    let mut accepted = 0;
    for platform in xe::all() {
        let device = platform.device(V7_3).unwrap();
        let objects = objects(device);
        let memories = objects.iter().map(Memory::Object).chain([Memory::Process]);
        for (memory, (index, entry)) in
            memories.flat_map(|memory| device.pat.indices().map(move |row| (memory, row)))
        {
            for (writer, next) in [(Agent::Cpu, Agent::Gpu), (Agent::Gpu, Agent::Cpu)] {
                let decision = device.needs_flush(memory, index, writer, next, When::AfterFence);
                assert_ne!(decision.verdict, Verdict::Flush, "{platform} {index} {memory:?}");
                accepted += usize::from(decision.verdict != Verdict::Refused);
            }
            // Inside a batch only 2-way coherency shows the GPU's writes.
            let inside = device.needs_flush(memory, index, Agent::Gpu, Agent::Cpu, When::InBatch);
            let expected = match (inside.verdict, entry.coherency) {
                (Verdict::Refused, _) => (Verdict::Refused, Rule::CannotBeBound),
                (_, PatCoherency::TwoWay) => (Verdict::NotNeeded, Rule::TwoWaySeen),
                _ => (Verdict::FlushGpu, Rule::FlushInBatch),
            };
            assert_eq!((inside.verdict, inside.rule), expected, "{platform} {index} {memory:?}");
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn decisions_name_their_rules() {
    use Agent::{Cpu, Display, Gpu};
    use Verdict::{Drain, Flush, FlushGpu, NotNeeded, Refused};
    for (name, caching, index, writer, next, verdict, rule) in [
        ("lnl", CpuCaching::Wb, 1, Cpu, Gpu, NotNeeded, Rule::SnoopedMapping),
        ("lnl", CpuCaching::Wb, 3, Cpu, Gpu, Refused, Rule::CannotBeBound),
        ("lnl", CpuCaching::Wb, 3, Gpu, Cpu, Refused, Rule::CannotBeBound),
        // Neither needs a mapping of the GPU.
        ("lnl", CpuCaching::Wb, 3, Cpu, Cpu, NotNeeded, Rule::SameCaches),
        ("lnl", CpuCaching::Wb, 3, Cpu, Display, Flush, Rule::DisplayReadsMemory),
        ("lnl", CpuCaching::Wc, 3, Cpu, Gpu, Drain, Rule::WcDrain),
        ("lnl", CpuCaching::Wb, 1, Gpu, Cpu, NotNeeded, Rule::EndFlushes),
        ("lnl", CpuCaching::Wc, 3, Gpu, Cpu, NotNeeded, Rule::NoCpuLines),
        ("lnl", CpuCaching::Wb, 1, Cpu, Display, Flush, Rule::DisplayReadsMemory),
        ("lnl", CpuCaching::Wc, 6, Cpu, Display, Drain, Rule::WcDrain),
        ("lnl", CpuCaching::Wc, 0, Gpu, Display, NotNeeded, Rule::GpuWriteShown),
        ("tgl", CpuCaching::Wc, 1, Gpu, Cpu, NotNeeded, Rule::SharedLlc),
        ("tgl", CpuCaching::Wc, 0, Gpu, Display, Flush, Rule::LlcLinesShown),
        ("tgl", CpuCaching::Wc, 1, Gpu, Display, NotNeeded, Rule::GpuWriteShown),
        ("bmg", CpuCaching::Wb, 1, Cpu, Gpu, NotNeeded, Rule::BusSnoops),
        // Write-combining system memory is cached by the CPU there.
        ("bmg", CpuCaching::Wc, 3, Cpu, Gpu, NotNeeded, Rule::BusSnoops),
        ("bmg", CpuCaching::Wc, 6, Gpu, Display, Refused, Rule::DisplayShowsLocal),
        ("nvlp", CpuCaching::Wb, 1, Gpu, Cpu, FlushGpu, Rule::TransientOnly),
        // Transient for the display, and for the CPU.
        ("nvlp", CpuCaching::Wc, 6, Gpu, Cpu, FlushGpu, Rule::TransientOnly),
        ("nvlp", CpuCaching::Wc, 18, Gpu, Cpu, NotNeeded, Rule::NoCpuLines),
        ("nvlp", CpuCaching::Wb, 19, Gpu, Cpu, NotNeeded, Rule::EndFlushes),
        ("nvlp", CpuCaching::Wb, 2, Gpu, Cpu, NotNeeded, Rule::EndFlushes),
        // Uncached.
        ("nvlp", CpuCaching::Wc, 3, Gpu, Cpu, NotNeeded, Rule::NoCpuLines),
        ("cri", CpuCaching::Wc, 3, Gpu, Display, Refused, Rule::NoDisplay),
        ("lnl", CpuCaching::Wb, 1, Display, Cpu, Refused, Rule::DisplayNeverWrites),
        ("lnl", CpuCaching::Wb, 1, Gpu, Gpu, NotNeeded, Rule::SameCaches),
        ("lnl", CpuCaching::Wb, 1, Cpu, Cpu, NotNeeded, Rule::SameCaches),
    ] {
        let device = device(name, V7_3);
        let object = object(device, caching);
        let decision = device.needs_flush(Memory::Object(&object), index, writer, next, When::AfterFence);
        assert_eq!(
            (decision.verdict, decision.rule),
            (verdict, rule),
            "{name} {caching} {index} {writer} {next}"
        );
    }
    let local = Create { placement: LOCAL, ..Create::new(SIZE, CpuCaching::Wc) };
    for (name, verdict) in [("bmg", NotNeeded), ("bmg-g31", FlushGpu)] {
        let device = device(name, V7_3);
        let local = device.create(&local).unwrap();
        let decide = |index, writer, next| {
            device.needs_flush(Memory::Object(&local), index, writer, next, When::AfterFence)
        };
        assert_eq!(decide(0, Gpu, Display).verdict, verdict, "{name}");
        assert_eq!(decide(6, Gpu, Display).rule, Rule::GpuWriteShown, "{name}");
        assert_eq!(decide(0, Cpu, Gpu).rule, Rule::BarDrain, "{name}");
    }
    let lunar_lake = device("lnl", V7_3);
    let wb = object(lunar_lake, CpuCaching::Wb);
    let queues = lunar_lake.needs_flush(Memory::Object(&wb), 1, Gpu, Gpu, When::InBatch);
    assert_eq!((queues.verdict, queues.rule), (FlushGpu, Rule::FlushInBatch));
    let process = device("lnl", V7_3).needs_flush(Memory::Process, 1, Cpu, Display, When::AfterFence);
    assert_eq!((process.verdict, process.rule), (Refused, Rule::UserptrNotShown));
}

#[test]
fn every_choice_is_accepted_and_needs_a_drain_at_most() {
    for platform in xe::all() {
        let device = platform.device(V7_3).unwrap();
        for &purpose in Use::ALL {
            let Some(choice) = device.choose(purpose, 4096) else {
                assert!(purpose == Use::Scanout && !platform.has_display, "{platform} {purpose}");
                continue;
            };
            let object = match choice.create {
                Some(create) => device.create(&create).unwrap(),
                None => Object::imported(SIZE),
            };
            let memory = if purpose == Use::Userptr { Memory::Process } else { Memory::Object(&object) };
            let decide = |writer, next| {
                device.needs_flush(memory, choice.pat_index, writer, next, When::AfterFence).verdict
            };
            let (to_gpu, to_cpu) = (decide(Agent::Cpu, Agent::Gpu), decide(Agent::Gpu, Agent::Cpu));
            assert!(matches!(to_gpu, Verdict::NotNeeded | Verdict::Drain), "{platform} {purpose}: {to_gpu}");
            // On Nova Lake-P, what the CPU does not read need not be transient.
            if matches!(purpose, Use::ReadBack | Use::Import | Use::Userptr) {
                assert_eq!(to_cpu, Verdict::NotNeeded, "{platform} {purpose}");
            }
            if purpose == Use::Scanout {
                assert_eq!(device.dumb(object.size), object, "{platform}");
                assert_eq!(decide(Agent::Gpu, Agent::Display), Verdict::NotNeeded, "{platform}");
                assert_eq!(decide(Agent::Cpu, Agent::Display), Verdict::Drain, "{platform}");
            }
        }
    }
    // As Mesa chooses (intel_device_info.c).
    let index = |name: &str, purpose| device(name, V7_3).choose(purpose, SIZE).unwrap().pat_index;
    for (name, read_back, scanout, upload, gpu_only) in [
        ("tgl", 0, 1, 1, 0),
        ("dg2", 0, 1, 1, 0),
        ("mtl", 3, 1, 0, 0),
        ("lnl", 1, 6, 0, 9),
        ("ptl", 1, 6, 0, 9),
    ] {
        let found =
            [Use::ReadBack, Use::Scanout, Use::Upload, Use::GpuOnly].map(|purpose| index(name, purpose));
        assert_eq!(found, [read_back, scanout, upload, gpu_only], "{name}");
    }
    assert_eq!((index("nvlp", Use::ReadBack), index("nvlp", Use::Userptr)), (19, 19));
}

#[test]
fn what_is_created_is_cached_where_the_cpu_reads_and_local_where_it_has_no_part() {
    let small = 4096;
    for platform in xe::all() {
        let device = platform.device(V7_3).unwrap();
        let (placement, page) = match platform.local_page_bytes {
            Some(bytes) => (LOCAL, u64::from(bytes)),
            None => (SYSTEM, small),
        };
        let system = |caching| Some(Create::new(small, caching));
        let gpu_only = Create { placement, ..Create::new(page, CpuCaching::Wc) };
        for &purpose in Use::ALL {
            let Some(choice) = device.choose(purpose, small) else { continue };
            let expected = match purpose {
                Use::Upload => system(CpuCaching::Wc),
                Use::ReadBack => system(CpuCaching::Wb),
                Use::Scanout => Some(Create { flags: CreateFlags::SCANOUT, ..gpu_only }),
                Use::GpuOnly => Some(gpu_only),
                Use::Import | Use::Userptr => None,
            };
            assert_eq!(choice.create, expected, "{platform} {purpose}");
        }
    }
}

#[test]
fn a_caching_mode_is_a_use_and_none_is_local_where_there_is_local_memory() {
    for platform in xe::all() {
        let device = platform.device(V7_3).unwrap();
        let mode = |mode| device.choose_mode(mode, SIZE);
        let of = |purpose| device.choose(purpose, SIZE);
        assert_eq!(mode(CachingMode::Cached), of(Use::ReadBack), "{platform}");
        assert_eq!(mode(CachingMode::Display), of(Use::Scanout), "{platform}");
        let (none, upload) = (mode(CachingMode::None).unwrap(), of(Use::Upload).unwrap());
        // The CPU writes it: the index does not compress.
        assert_eq!(none.pat_index, upload.pat_index, "{platform}");
        let memory = if platform.discrete { of(Use::GpuOnly).unwrap() } else { upload };
        assert_eq!(none.create, memory.create, "{platform}");
    }
}

#[test]
fn every_rule_has_a_sentence_and_a_source() {
    for rule in Rule::ALL {
        assert!(rule.reason().ends_with('.') && rule.reason().len() > 20, "{rule}");
        assert!(!rule.source().is_empty(), "{rule}");
    }
}
