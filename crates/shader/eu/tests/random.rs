//! Random words: decoded and encoded again, expanded and compacted again, parsed from text, executed without a panic.

use intel_eu::execute::{Access, Bus, Shader, Stop, Thread, Why};
use intel_eu::{Error, Opcode, Platform, compact, decode, encode, expand, text};

/// A surface that reads as zeroes.
struct Zeroes;

impl Bus for Zeroes {
    fn read(&mut self, _: Access, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    fn write(&mut self, _: Access, _: &[u8]) {}
}

/// Numbers of xorshift128+.
struct Random(u64, u64);

impl Random {
    fn next(&mut self) -> u64 {
        let (mut a, b) = (self.0, self.1);
        a ^= a << 23;
        a ^= a >> 17 ^ b ^ b >> 26;
        (self.0, self.1) = (b, a);
        a.wrapping_add(b)
    }

    /// Returns a word with the number of one of the platform's opcodes, and few or many other bits.
    fn word(&mut self, platform: Platform) -> u128 {
        let opcodes: Vec<Opcode> = Opcode::of(platform).collect();
        let opcode = opcodes[self.next() as usize % opcodes.len()].code(platform).unwrap_or(0);
        let mut dense = || u128::from(self.next()) << 64 | u128::from(self.next());
        let (one, other) = (dense(), dense());
        let word = if one & 1 == 0 { one } else { one & other };
        word & !(0x7f | 1 << 29) | u128::from(opcode)
    }
}

#[test]
fn what_is_decoded_is_encoded_again() {
    let mut random = Random(1, 2);
    for platform in Platform::all() {
        let mut decoded = 0;
        for _ in 0..5_000 {
            let word = random.word(platform);
            if let Ok(instruction) = decode(platform, word) {
                assert_eq!(
                    encode(platform, &instruction),
                    Ok(word),
                    "{platform} {word:#034x} {instruction:?}"
                );
                decoded += 1;
            }
        }
        assert!(decoded > 250, "{platform}: {decoded}");
    }
}

#[test]
fn words_of_random_bits_are_compacted_again() {
    let mut random = Random(9, 10);
    for platform in Platform::all() {
        let mut expanded = 0;
        for _ in 0..1_000 {
            let short = random.word(platform) as u64 | 1 << 29;
            let word = match expand(platform, short) {
                Err(Error::Reserved { bits }) => expand(platform, short & !bits),
                expanded => expanded,
            };
            let Ok(word) = word else { continue };
            // Another row may be the same one beside an immediate.
            let again = compact(platform, word).unwrap();
            assert_eq!(expand(platform, again), Ok(word), "{platform} {short:#018x}");
            assert_ne!(compact(platform, word ^ 1 << (random.next() % 128)), Ok(again), "{platform}");
            expanded += 1;
        }
        assert!(expanded > 500, "{platform}: {expanded}");
    }
}

#[test]
fn texts_are_parsed_as_they_are_printed() {
    let mut random = Random(5, 6);
    for platform in Platform::all() {
        let (mut printed, mut parsed) = (0, 0);
        for _ in 0..5_000 {
            let Ok(mut instruction) = decode(platform, random.word(platform)) else { continue };
            // A destination of no element at all has no text.
            if let Some(destination) = &mut instruction.destination {
                destination.mask = destination.mask.max(u8::from(instruction.align16));
            }
            let text = text::print(platform, &instruction);
            printed += 1;
            if let Ok(again) = text::parse(platform, &text) {
                assert_eq!(text::print(platform, &again), text, "{platform}");
                parsed += 1;
            }
        }
        // The others are branches to a number in `ret`, or to an architecture register.
        assert!(parsed * 100 > printed * 97, "{platform}: {parsed} of {printed}");
    }
}

#[test]
fn texts_with_errors_do_not_panic() {
    const WORDS: [&str; 14] =
        ["<", ";", ":", "(", ")", ",", ".", "-", "r", "0x", "9999999999", "{", "$", "\u{e9}"];
    let mut random = Random(7, 8);
    for platform in Platform::all() {
        let mut refused = 0;
        for _ in 0..2_000 {
            let Ok(instruction) = decode(platform, random.word(platform)) else { continue };
            let mut text = text::print(platform, &instruction);
            for _ in 0..=random.next() % 3 {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                let at = places[random.next() as usize % places.len()];
                let end = text.len().min(at + random.next() as usize % 3);
                let end = (at..=end).rfind(|end| text.is_char_boundary(*end)).unwrap_or(at);
                text.replace_range(at..end, WORDS[random.next() as usize % WORDS.len()]);
            }
            match text::parse_program(platform, &format!("label:\n{text}")) {
                Ok(program) => {
                    for instruction in &program {
                        let _ = encode(platform, instruction);
                    }
                }
                Err(error) => {
                    assert!(error.line <= 2, "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 100, "{platform}: {refused} were refused");
    }
}

#[test]
fn random_instructions_stop_where_the_check_says() {
    let mut random = Random(3, 4);
    let payload = [[0x3f; 32]; 128];
    for platform in Platform::all() {
        let mut done = 0;
        for _ in 0..2_000 {
            let word = random.word(platform);
            let shader = Shader::new(platform, &word.to_le_bytes());
            let stop = Thread::new(&shader, 0xffff_ffff, &payload).run(10, &mut Zeroes);
            // A shader of one instruction lacks an end, which the check finds if it finds nothing before.
            let is_known = shader
                .check(0xffff_ffff)
                .map_or_else(|stop| stop == Stop { at: 16, why: Why::End }, |len| len == 16);
            if is_known {
                let why = stop.err().map(|stop| stop.why);
                let is_dynamic = matches!(
                    why,
                    None | Some(
                        Why::End
                            | Why::Undefined { .. }
                            | Why::Register { .. }
                            | Why::Endless { .. }
                            | Why::Media { .. }
                    )
                );
                assert!(is_dynamic, "{platform} {word:#034x}: {why:?}");
            }
            done += u32::from(is_known);
        }
        assert!(done > 20, "{platform}: {done} are known");
    }
}
