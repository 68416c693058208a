//! Any bytes as instructions of execution units: what is expanded is compacted again, and what is decoded is encoded again, printed and
//! parsed, validated, and executed.

#![no_main]

use gem_coherency_fuzz::watch;
use intel_eu::execute::{Access, Bus, Rows, Shader, Thread};
use intel_eu::{Encoding, Platform, compact, encode, encodings, expand, text, validate};
use libfuzzer_sys::fuzz_target;

/// A surface that every entry of the binding table is, every second one with rows.
struct Surface([u8; 256]);

impl Bus for Surface {
    fn rows(&mut self, surface: u8) -> Option<Rows> {
        (surface & 1 != 0).then_some(Rows { pitch: 64, bytes: 60, count: 4 })
    }

    fn read(&mut self, access: Access, bytes: &mut [u8]) {
        for (byte, at) in bytes.iter_mut().zip(u64::from(access.offset)..) {
            *byte = self.0.get(at as usize).copied().unwrap_or(0);
        }
    }

    fn write(&mut self, access: Access, bytes: &[u8]) {
        for (byte, at) in bytes.iter().zip(u64::from(access.offset)..) {
            if let Some(place) = self.0.get_mut(at as usize) {
                *place = *byte;
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| watch::nothing_lost(|| {
    let [first, shader @ ..] = bytes else { return };
    let platforms: Vec<Platform> = Platform::all().collect();
    let platform = platforms[usize::from(*first) % platforms.len()];
    for (_, encoding) in encodings(shader) {
        let Ok(encoding) = encoding else { continue };
        let Ok(word) = encoding.word(platform) else { continue };
        match (compact(platform, word), encoding) {
            (Ok(short), _) => assert_eq!(expand(platform, short), Ok(word), "{platform} {word:#034x}"),
            (Err(reason), Encoding::Compacted(short)) => panic!("{platform} {short:#018x}: {reason}"),
            (Err(reason), Encoding::Full(_)) => assert!(!reason.to_string().is_empty()),
        }
        let Ok(mut instruction) = encoding.decode(platform) else { continue };
        assert_eq!(encode(platform, &instruction), Ok(word), "{platform} {word:#034x}");
        for violation in validate(platform, &instruction) {
            assert!(!violation.to_string().is_empty());
        }
        // A destination of no element at all has no text.
        if let Some(destination) = &mut instruction.destination {
            destination.mask = destination.mask.max(u8::from(instruction.align16));
        }
        let printed = text::print(platform, &instruction);
        if let Ok(parsed) = text::parse(platform, &printed) {
            assert_eq!(text::print(platform, &parsed), printed, "{platform} {word:#034x}");
        }
    }
    // Some registers are undefined.
    let payload: Vec<[u8; 32]> = (0..64).map(|number| [number; 32]).collect();
    let decoded = Shader::new(platform, shader);
    let _ = decoded.check(0xffff);
    let _ = Thread::new(&decoded, 0xffff, &payload).run(1000, &mut Surface([0; 256]));
    if let Ok(text) = std::str::from_utf8(shader) {
        for instruction in text::parse_program(platform, text).unwrap_or_default() {
            let _ = Encoding::of(platform, &instruction);
        }
    }
}));
