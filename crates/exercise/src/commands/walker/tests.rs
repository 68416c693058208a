//! Tests the encoding of every generation's walker, dword by dword.

use super::*;
use gem_coherency::platform;
use gem_coherency::vocabulary::KernelVersion;

fn machine(platform: &str) -> Machine {
    platform::by_name(platform).unwrap().machine(KernelVersion::new(6, 12), false)
}

const SHADER: [u8; 16] = [0x11; 16];
/// The addresses of the surfaces' buffers and of the batch's own one.
const ADDRESSES: [u64; 3] = [0x7_0001_0000, 0x7_0002_0000, 0x7_0003_0000];
const OWN: u32 = 2;

fn bytes(buffer: u32, mocs: Option<u8>) -> Bytes {
    Bytes { buffer, offset: 0x40, len: 0x0123_4568, mocs }
}

/// Returns the dwords of a walker of three groups, surface 0 of which has a MOCS entry.
fn words(platform: &str, entry: u8, constants: &[u32]) -> Vec<u32> {
    let surfaces = [bytes(0, Some(entry)), bytes(1, None)];
    let what = Walker { shader: &SHADER, surfaces: &surfaces, constants, groups: 3 };
    walker(&machine(platform), &what, OWN).unwrap().at(&ADDRESSES).words().to_vec()
}

fn hex(words: &[u32]) -> Vec<String> {
    words.iter().map(|word| format!("{word:08x}")).collect()
}

#[track_caller]
fn starts(platform: &str, got: &[u32], want: &[u32]) {
    assert_eq!(hex(&got[..want.len()]), hex(want), "{platform}");
    assert!(got[want.len()..512 / 4].iter().all(|word| *word == 0), "{platform}");
}

#[test]
fn each_generations_commands_are_the_manuals() {
    const ALL: u32 = u32::MAX;
    let haswell = [
        &[0x7a00_0003, 0x0010_0020, 0, 0, 0, 0x6904_0002][..],
        &[0x6101_0008, 1, 0x0003_0001, 0x0003_0001, 1, 0x0003_0001, 0xffff_f001, 0xffff_f001, 0xffff_f001],
        &[0xffff_f001, 0x7a00_0003, 0x0010_0c2c, 0, 0, 0],
        &[0x7000_0006, 0, 0x003f_0084, 0, 2, 0, 0, 0, 0x7002_0002, 0, 32, 576],
        &[0x7105_0009, 0, 0x4000_0000, 0, 3, 0, 1, 0, 1, ALL, ALL, 0x7004_0000, 0],
        &[0x7a00_0003, 0x0010_0020, 0, 0, 0, 0x0500_0000],
    ];
    starts("hsw", &words("hsw", 0, &[]), &haswell.concat());
    let wide = |select: u32, length: u32, mocs: u32, bindless: usize, timer: u32, data_port: u32| {
        let base = |words: &mut Vec<u32>| words.extend([0x0003_0000 | mocs << 4 | 1, 7]);
        let control = 0x7a00_0004 | data_port;
        let mut words = vec![control, 0x0010_0020, 0, 0, 0, 0, select, length, 1, 0, mocs << 16];
        base(&mut words);
        base(&mut words);
        words.extend([1, 0]);
        base(&mut words);
        words.extend([0xffff_f001; 4]);
        words.extend(vec![0; bindless]);
        words.extend([control, 0x0010_0c2c, 0, 0, 0, 0]);
        words.extend([0x7000_0007, 0, 0, 0x003f_0200 | timer, 0, 0x0002_0002, 0, 0, 0]);
        words.extend([0x7002_0002, 0, 32, 576]);
        words.extend([0x7105_000d, 0, 0, 0, 0x4000_0000, 0, 0, 3, 0, 0, 1, 0, 1, ALL, ALL]);
        words.extend([0x7004_0000, 0, control, 0x0010_0020, 0, 0, 0, 0, 0x0500_0000]);
        words
    };
    for platform in ["bdw", "chv"] {
        starts(platform, &words(platform, 0, &[]), &wide(0x6904_0002, 0x6101_000e, 0x18, 0, 0x80, 0));
    }
    for platform in ["skl", "glk", "cml"] {
        starts(platform, &words(platform, 0, &[]), &wide(0x6904_0302, 0x6101_0011, 2, 3, 0x80, 0));
    }
    for platform in ["icl", "jsl"] {
        starts(platform, &words(platform, 0, &[]), &wide(0x6904_0302, 0x6101_0014, 2, 6, 0, 0x200));
    }
    for (platform, mocs) in [("tgl", 4), ("adlp", 4), ("dg1", 2)] {
        starts(platform, &words(platform, 0, &[]), &wide(0x6904_1312, 0x6101_0014, mocs, 6, 0, 0x200));
    }
}

#[test]
fn graphics_12_5_has_a_walker_with_its_descriptor() {
    for (platform, mocs) in [("dg2", 2), ("atsm", 2), ("mtl", 18)] {
        let got = words(platform, 0, &[0x55]);
        // PIPE_CONTROL, PIPELINE_SELECT, STATE_BASE_ADDRESS, PIPE_CONTROL.
        let after = 6 + 1 + 22 + 6;
        let want = [
            &[0x7919_0002, 0x0003_0000 | mocs, 7, 4096, 0x7200_0004, 0, 0, 64 << 16, 0, 0][..],
            &[0x7208_0025, 0, 0, 0, 0x4202_0000, 0xffff, 15, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[832, 0, 0, 0, 512, 1, 0, 0, 0, 0, 0, 0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0],
            &[0x7a00_0204, 0x0010_0020, 0, 0, 0, 0, 0x0500_0000],
        ];
        starts(platform, &[&got[after..512 / 4], &[0; 35]].concat(), &want.concat());
        assert_eq!(got[832 / 4..][..4], [0x1111_1111; 4]);
        let plain = words(platform, 0, &[]);
        assert_eq!(plain[after + 10 + 4], 0x4002_0000, "no data without constants");
    }
}

#[test]
fn the_state_lies_after_the_commands() {
    let wide = words("jsl", 16, &[0x55, 0x66]);
    assert_eq!(wide[512 / 4..][..3], [704, 768, 0]);
    assert_eq!(wide[576 / 4..][..8], [832, 0, 0, 0, 512, 1 << 16, 1, 0]);
    assert_eq!(wide[640 / 4..][..3], [0x55, 0x66, 0]);
    // 0x1234568 bytes: 0x1234567 is 0x67 in bits 6:0, 0x68a in bits 20:7, and 9 in bits 30:21.
    let (size, depth) = (0x068a_0067, 9 << 21);
    let first = [0x87fd_4000, 32 << 24, size, depth, 0, 0, 0, 0x0977_0000, 0x0001_0040, 7];
    assert_eq!(hex(&wide[704 / 4..][..10]), hex(&first));
    assert_eq!(hex(&wide[768 / 4..][..2]), hex(&[0x87fd_4000, 2 << 24]), "entry 1 is the page table's");
    assert_eq!(wide[832 / 4..][..5], [0x1111_1111, 0x1111_1111, 0x1111_1111, 0x1111_1111, 0]);
    let haswell = words("hsw", 5, &[0x55]);
    assert_eq!(haswell[576 / 4..][..8], [832, 0, 0, 512, 1 << 16, 1, 0, 0]);
    let first = [0x87fc_0000, 0x0001_0040, size, depth, 0, 5 << 16, 0, 0x0977_0000];
    assert_eq!(hex(&haswell[704 / 4..][..8]), hex(&first));
    // Broadwell's surfaces have control bits.
    assert_eq!(hex(&words("bdw", 0x38, &[])[704 / 4 + 1..][..1]), ["38000000"]);
}

#[test]
fn constants_are_loaded_if_there_are_any() {
    let load = [0x7001_0002, 0, 64, 640];
    for platform in ["hsw", "chv", "ehl", "rkl"] {
        let has = |constants: &[u32]| words(platform, 0, constants).windows(4).any(|words| words == load);
        assert!(has(&[1]) && !has(&[]), "{platform}");
    }
}

#[test]
fn what_a_field_cannot_say_is_refused() {
    #[track_caller]
    fn refused(platform: &str, what: &Walker<'_>, name: &str) {
        match walker(&machine(platform), what, OWN) {
            Err(Error::NotEncodable { what, .. }) => assert_eq!(what, name),
            other => panic!("{name}: {other:?}"),
        }
    }
    let right = Walker { shader: &SHADER, surfaces: &[], constants: &[], groups: 1 };
    assert!(walker(&machine("glk"), &right, 0).is_ok());
    refused("glk", &Walker { shader: &[], ..right }, "shader size");
    refused("glk", &Walker { shader: &[0; 12], ..right }, "shader size");
    refused("glk", &Walker { groups: 0, ..right }, "number of groups");
    refused("glk", &Walker { constants: &[0; 9], ..right }, "number of constants");
    refused("glk", &Walker { surfaces: &[bytes(0, None); 17], ..right }, "number of surfaces");
    assert!(walker(&machine("glk"), &Walker { surfaces: &[bytes(0, None); 16], ..right }, 0).is_ok());
    let with =
        |platform, surface: Bytes, name| refused(platform, &Walker { surfaces: &[surface], ..right }, name);
    with("glk", Bytes { offset: 2, ..bytes(0, None) }, "offset");
    for len in [0, 6, (1 << 30) + 4] {
        with("glk", Bytes { len, ..bytes(0, None) }, "surface size");
    }
    for (platform, entry) in [("glk", 64), ("bdw", 128), ("hsw", 16)] {
        with(platform, bytes(0, Some(entry)), "MOCS entry");
        let last = [bytes(0, Some(entry - 1))];
        assert!(walker(&machine(platform), &Walker { surfaces: &last, ..right }, 0).is_ok());
    }
    for platform in ["snb", "ivb", "vlv"] {
        let error = walker(&machine(platform), &right, 0).unwrap_err();
        assert_eq!(error.errno(), gem_coherency::Errno::ENODEV, "{platform}: {error}");
    }
}
