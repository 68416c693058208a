//! Prints requests of xe with the answers of the rules: `cargo run --example xe_requests PLATFORM KERNEL [GRAPHICS] [--random COUNT]`.
//!
//! The device has no flat compression state, as in the virtual machine. `--random` adds operations of VM_BIND with fields at random.
//!
//! A line is a request with its fields, `=>`, and `ok`, or the errno and the check that fails; or a register of the PAT table and its value.
//! `ci/lib/xe_requests.py` makes the requests on a real device, and compares.

use std::fmt::Display;
use std::process::ExitCode;

use gem_coherency_policy::platform::GraphicsVersion;
use gem_coherency_policy::xe::{
    self, Bind, BindFlags, BindOp, Bound, CpuCaching, Create, CreateFlags, Device, LOCAL, MapFlags, Object,
    Refusal, SYSTEM,
};

/// Bytes of each object.
const SIZE: u64 = 64 << 10;
/// Bytes of a page.
const PAGE: u64 = 4096;
/// The address that mappings start at.
const ADDRESS: u64 = 1 << 32;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match device(&words) {
        Ok(device) => {
            registers(&device);
            creations(&device);
            offsets(&device);
            bindings(&device);
            advice(&device);
            let count = words.iter().position(|word| *word == "--random").and_then(|at| words.get(at + 1));
            random(&device, count.and_then(|count| count.parse().ok()).unwrap_or(0));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Returns the device that the arguments name.
fn device(words: &[&str]) -> Result<Device, Box<dyn std::error::Error>> {
    let [platform, kernel, graphics @ ..] = words else {
        return Err("usage: xe_requests PLATFORM KERNEL [GRAPHICS] [--random COUNT]".into());
    };
    let device = xe::device(platform, kernel.parse()?)?.without_flat_ccs();
    let [graphics, ..] = graphics else { return Ok(device) };
    if graphics.starts_with('-') {
        return Ok(device);
    }
    let bad = || format!("'{graphics}' is no version such as 20.04");
    let (major, minor) = graphics.split_once('.').ok_or_else(bad)?;
    let version = major.parse().ok().zip(minor.parse().ok()).ok_or_else(bad)?;
    Ok(device.with_graphics(GraphicsVersion::new(version.0, version.1))?)
}

/// Prints a request and its answer.
fn line(request: impl Display, answer: Result<(), Refusal>) {
    match answer {
        Ok(()) => println!("{request} => ok"),
        Err(Refusal { errno, rule }) => println!("{request} => {errno:?} {rule}"),
    }
}

/// Prints the registers of the PAT table.
fn registers(device: &Device) {
    for index in 0..device.pat.entries.len() {
        let register =
            u16::try_from(index).ok().and_then(|index| device.pat.register(index)).unwrap_or_default();
        println!("register pat={index} => {register:#x}");
    }
}

/// Prints requests for objects: every placement, flag and caching, and other fields one at a time.
fn creations(device: &Device) {
    let create = |request: Create| {
        let Create { size, placement, flags, cpu_caching, handle, .. } = request;
        let (flags, reserved) = (flags.bits(), u8::from(request.reserved));
        let fields = format!("size={size} placement={placement} flags={flags} caching={cpu_caching}");
        line(
            format!("create {fields} handle={handle} reserved={reserved}"),
            device.create(&request).map(drop),
        );
    };
    let right = Create::new(SIZE, CpuCaching::Wc);
    for placement in [0, SYSTEM, LOCAL, SYSTEM | LOCAL, 4, 5] {
        for bits in 0..32 {
            for cpu_caching in 0..4 {
                create(Create {
                    placement,
                    flags: CreateFlags::from_bits_retain(bits),
                    cpu_caching,
                    ..right
                });
            }
        }
    }
    for placement in [SYSTEM, LOCAL] {
        for size in [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, SIZE + PAGE, (1 << 63) + 1] {
            create(Create { size, placement, ..right });
        }
    }
    for wrong in [
        Create { handle: 1, ..right },
        Create { reserved: true, ..right },
        Create { handle: 1, reserved: true, placement: 0, ..right },
        Create { size: 1, cpu_caching: 9, ..right },
    ] {
        create(wrong);
    }
}

/// Prints requests for the offset of a mapping.
fn offsets(device: &Device) {
    for bits in 0..4 {
        for (name, handle) in [("none", 0), ("wc", 1)] {
            for reserved in [false, true] {
                let answer = device.map_offset(handle, MapFlags::from_bits_retain(bits), reserved);
                line(format!("offset object={name} flags={bits} reserved={}", u8::from(reserved)), answer);
            }
        }
    }
}

/// Returns the objects that are bound, by name.
fn objects(device: &Device) -> Vec<(&'static str, Object)> {
    let make = |placement, flags, caching| {
        device.create(&Create { placement, flags, ..Create::new(SIZE, caching) }).ok()
    };
    let (none, wb, wc) = (CreateFlags::empty(), CpuCaching::Wb, CpuCaching::Wc);
    let named = [
        ("wb", make(SYSTEM, none, wb)),
        ("wc", make(SYSTEM, none, wc)),
        ("scanout", make(SYSTEM, CreateFlags::SCANOUT, wc)),
        ("plain", make(SYSTEM, CreateFlags::NO_COMPRESSION, wc)),
        ("local", make(LOCAL, none, wc)),
        ("both", make(SYSTEM | LOCAL, none, wc)),
        ("import", Some(Object::imported(SIZE))),
        // Exported and imported again on another file of the same device: the same object.
        ("again", make(SYSTEM, none, wb)),
    ];
    named.into_iter().filter_map(|(name, object)| Some((name, object?))).collect()
}

/// Returns PAT indices: all of the table, and some past it.
fn indices(device: &Device) -> impl Iterator<Item = u16> + use<> {
    let count = u16::try_from(device.pat.entries.len()).unwrap_or(u16::MAX);
    (0..count + 2).chain([0x7fff, 0xffff])
}

/// Prints an operation of VM_BIND on an object of this name.
fn print_bind(device: &Device, name: &str, bind: Bind<'_>) {
    let Bind { op, flags, offset, address, range, pat_index, region, .. } = bind;
    let request =
        format!("bind op={op} flags={} object={name} offset={offset} address={address}", flags.bits());
    let answer = device.bind(&[bind], false).map_err(|(_, refusal)| refusal);
    line(format!("{request} range={range} pat={pat_index} region={region}"), answer);
}

/// Prints operations of VM_BIND, most of them with one field that is wrong.
fn bindings(device: &Device) {
    let objects = objects(device);
    let bind = |name: &str, bind: Bind<'_>| print_bind(device, name, bind);
    for pat_index in indices(device) {
        for (name, object) in &objects {
            bind(name, Bind::map(object, ADDRESS, pat_index));
        }
        let bare = |op| Bind::bare(op, ADDRESS, SIZE, pat_index);
        bind("none", bare(BindOp::MapUserptr));
        bind("none", Bind { flags: BindFlags::NULL, ..bare(BindOp::Map) });
        bind("none", bare(BindOp::Unmap));
    }
    let find = |wanted: &str| objects.iter().find(|(name, _)| *name == wanted);
    let Some((name, wc)) = find("wc") else { return };
    let bare = |op| Bind::bare(op, ADDRESS, SIZE, device.pat.own.wb);
    // Every operation with every flag, with and without an object.
    for op in 0..6 {
        for flags in (0..11).map(|bit| BindFlags::from_bits_retain(1 << bit >> 1)) {
            for object in [None, Some(wc)] {
                bind(
                    if object.is_some() { name } else { "none" },
                    Bind { op, flags, object, ..bare(BindOp::Map) },
                );
            }
        }
    }
    let right = Bind::map(wc, ADDRESS, device.pat.own.none);
    let end = 1 << device.platform.address_bits;
    for wrong in [
        Bind { range: 0, ..right },
        Bind { range: 1, ..right },
        Bind { range: SIZE + PAGE, ..right },
        Bind { offset: PAGE, ..right },
        Bind { offset: 8, range: PAGE, ..right },
        Bind { offset: PAGE, range: PAGE, ..right },
        Bind { offset: u64::MAX - PAGE + 1, ..right },
        Bind { address: ADDRESS + 8, ..right },
        Bind { address: ADDRESS + PAGE, ..right },
        Bind { address: end - PAGE, ..right },
        Bind { address: end, ..right },
        Bind { address: u64::MAX - PAGE + 1, range: PAGE, ..right },
        Bind { region: 1, ..right },
        Bind { region: 40, ..right },
        Bind { object: Some(wc), ..Bind::bare(BindOp::UnmapAll, ADDRESS, 0, 0) },
        Bind { object: Some(wc), ..Bind::bare(BindOp::UnmapAll, 0, SIZE, 0) },
        Bind { object: Some(wc), ..Bind::bare(BindOp::UnmapAll, 0, 0, 0) },
    ] {
        bind(name, wrong);
    }
    bind("none", Bind::bare(BindOp::UnmapAll, 0, 0, 0));
    for region in [1, 2, 31, 32, 63, 64, 1000, u32::MAX] {
        bind("none", Bind { region, ..bare(BindOp::Prefetch) });
    }
    for (name, object) in ["local", "both"].into_iter().filter_map(find) {
        let right = Bind::map(object, ADDRESS, device.pat.own.none);
        bind(name, Bind { range: PAGE, ..right });
        bind(name, Bind { offset: PAGE, range: PAGE, ..right });
        bind(name, Bind { address: ADDRESS + PAGE, ..right });
    }
}

/// Prints MADVISE requests that change the PAT index of bound memory.
fn advice(device: &Device) {
    let advise = |name: &str, (start, range): (u64, u64), pat_index, reserved, bound: &[Bound<'_>]| {
        let request = format!("advise object={name} start={start} range={range} pat={pat_index}");
        let answer = device.madvise_pat(start, range, pat_index, reserved, bound);
        line(format!("{request} reserved={}", u8::from(reserved)), answer);
    };
    let all = (ADDRESS, SIZE);
    for pat_index in indices(device) {
        for (name, object) in &objects(device) {
            advise(name, all, pat_index, false, &[Bound::Object(object)]);
        }
        advise("userptr", all, pat_index, false, &[Bound::Process]);
        advise("userptr", (ADDRESS, PAGE), pat_index, false, &[Bound::PartOfProcess]);
    }
    let end = 1 << device.platform.address_bits;
    for place in [
        (0, end + PAGE),
        (end - PAGE, 2 * PAGE),
        (PAGE, u64::MAX - PAGE + 1),
        (1 << 60, PAGE),
        (u64::MAX - PAGE + 1, PAGE),
    ] {
        advise("nothing", place, 0, false, &[]);
    }
    for (place, reserved) in
        [((ADDRESS + 8, SIZE), false), ((ADDRESS, 8), false), ((ADDRESS, 0), false), (all, true)]
    {
        advise("nothing", place, 0, reserved, &[]);
    }
}

/// Numbers at random (xorshift64).
struct Random(u64);

impl Random {
    /// Returns one of the values.
    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let count = values.len() as u64;
        values[usize::try_from(self.0 % count).unwrap_or(0)]
    }
}

/// Prints operations of VM_BIND with several fields at random, so that which check comes first matters. A few that the rules accept are left out.
fn random(device: &Device, count: usize) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let objects = objects(device);
    let objects: Vec<_> =
        objects.iter().map(|(name, object)| (*name, Some(object))).chain([("none", None)]).collect();
    let end = 1_u64 << device.platform.address_bits;
    let (indices, bits): (Vec<_>, Vec<_>) =
        (indices(device).collect(), (0..10).map(|bit| 1_u32 << bit).collect());
    let mut printed = 0;
    while printed < count {
        let (name, object) = random.of(&objects);
        let flags = match random.of(&[0, 0, 0, 1, 2]) {
            0 => 0,
            1 => random.of(&bits),
            _ => random.of(&bits) | random.of(&bits),
        };
        let bind = Bind {
            op: random.of(&[0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 77]),
            flags: BindFlags::from_bits_retain(flags),
            object,
            offset: random.of(&[0, 0, 0, PAGE, 8, SIZE, SIZE - PAGE, u64::MAX - PAGE + 1]),
            address: random.of(&[ADDRESS, ADDRESS, ADDRESS, ADDRESS + PAGE, ADDRESS + 8, 0, end - PAGE, end]),
            range: random.of(&[SIZE, SIZE, SIZE, PAGE, 2 * PAGE, 0, 8, SIZE + PAGE, u64::MAX - PAGE + 1]),
            pat_index: random.of(&indices),
            region: random.of(&[0, 0, 0, 0, 1, 2, 31, 32, 64]),
        };
        // Unbinding what is bound at the end of the address space would go past it, and the process's own memory is mapped in one place.
        let beside = bind.op == BindOp::Map as u32 && bind.address >= end - SIZE;
        let is_left_out = beside || bind.op == BindOp::MapUserptr as u32;
        if !is_left_out || device.bind(&[bind], false).is_err() {
            print_bind(device, name, bind);
            printed += 1;
        }
    }
}
