//! `gemtool eu`.

use std::io::Write;
use std::process::Stdio;

use crate::{Ran, command, gemtool};

const COPY: &str = "examples/shaders/copy.asm";

/// Runs gemtool with `input` on standard input.
pub fn with_input(line: &str, input: &[u8]) -> Ran {
    let mut child = command(line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gemtool runs");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn text_dwords_and_bytes_are_the_same_instructions() {
    for platform in ["hsw", "bdw", "glk", "jsl"] {
        let folder = std::env::temp_dir().join(format!("gemtool-eu-{}-{platform}", std::process::id()));
        let assemble = format!("eu asm {COPY} --platform {platform} --output {}", folder.display());
        let dwords = gemtool(&assemble).held();
        let bytes = std::fs::read(&folder).unwrap();
        std::fs::remove_file(&folder).unwrap();
        assert_eq!(bytes.len(), 6 * 16);
        let print = format!("eu disasm - --platform {platform}");
        let text = with_input(&print, dwords.as_bytes()).held();
        assert_eq!(with_input(&print, &bytes).held(), text);
        assert_eq!(with_input(&print, text.as_bytes()).held(), text);
        let again = format!("eu asm - --platform {platform}");
        assert_eq!(with_input(&again, text.as_bytes()).held(), dwords);
    }
}

#[test]
fn compacted_instructions_are_read_validated_and_written() {
    let text = "mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud {Compacted}\n\
                mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud\n\
                mov (16|M0) r88.0<1>:d r119.3<0;8,2>:f {Compacted}\n";
    let dwords = with_input("eu asm - --platform skl", text.as_bytes()).held();
    assert!(dwords.starts_with("20004b01 00000207\n00600001 20400208 008d0000 00000000\n"), "{dwords}");
    assert_eq!(with_input("eu disasm - --platform skl", dwords.as_bytes()).held(), text);
    let ran = with_input("eu validate - --platform skl", dwords.as_bytes());
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.out.starts_with("0x0018  mov (16|M0) r88.0<1>:d r119.3<0;8,2>:f {Compacted}\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("rule          RowCrossing: "), "{}", ran.out);
    let without = text.replace(" {Compacted}", "");
    let full = with_input("eu asm - --platform skl", without.as_bytes()).held();
    assert!(full.lines().all(|line| line.split(' ').count() == 4), "{full}");
}

#[test]
fn a_broken_rule_is_exit_status_1_and_has_its_source() {
    assert_eq!(
        gemtool(&format!("eu validate {COPY} --platform jsl")).held(),
        "6 instructions of jsl: no rule is broken\n"
    );
    let packed = b"mov (4|M0) r30.0<1>:f r10.0<4;4,1>:df\n";
    let ran = with_input("eu validate - --platform skl", packed);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.out.contains("rule          DestinationStride: "), "{}", ran.out);
    assert!(ran.out.ends_with("1 instruction of skl: 1 rule is broken\n"), "{}", ran.out);
    let json = with_input("eu validate - --platform skl --json", packed);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let broken = &json["instructions"][0]["violations"][0];
    assert_eq!((&broken["rule"], &broken["operand"]), (&"DestinationStride".into(), &"destination".into()));
    let strided = b"mov (4|M0) r30.0<2>:f r10.0<4;4,1>:df\n";
    assert_eq!(with_input("eu validate - --platform skl", strided).status, Some(0));
}

#[test]
fn what_is_no_instruction_is_exit_status_2_and_named() {
    for (platform, input, error) in [
        ("jsl", &b"mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:u\n"[..], "-: line 1, column 35: 'u' is no type"),
        ("jsl", b"00600001 20400208 008d0000", "-: instruction at 0x0: the shader ends after 12 bytes of it"),
        ("jsl", b"// nothing\n", "-: it has no instruction"),
        ("jsl", &[0xff; 16], "-: instruction at 0x0: jsl has no opcode 127"),
        ("jsl", &[0xa7; 16], "-: instruction at 0x0: while has no compacted form"),
        ("jsl", b"nop\nwhile (8|M0) 16 {Compacted}\n", "-: instruction at 0x10: while has no compacted form"),
        ("jsl", &[0xd5; 16], "-: instruction at 0x0: jsl has no opcode 85"),
        ("gen9", b"", "no platform whose instructions are known: ivb, "),
        ("glk", b"add3 (8|M0) r1.0<1>:d r2.0<8;1>:d r3.0<8;1>:d r4.0<1>:d", "add3"),
    ] {
        let ran = with_input(&format!("eu validate - --platform {platform}"), input);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.err.contains(error), "{error}: {}", ran.err);
    }
    let missing = gemtool("eu disasm no-such-file --platform jsl");
    assert_eq!(missing.status, Some(2));
    assert!(missing.err.contains("no-such-file: No such file"), "{}", missing.err);
}
